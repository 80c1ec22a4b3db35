#include "heddle/runtime/fuzzy/calculator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/fuzzy/matvec_family.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"
#include "heddle/kernels/fuzzy/sum_family.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/fuzzy/array_layout.hpp"
#include "heddle/runtime/kernel/tuned_kernel.hpp"

namespace heddle::fuzzy {
namespace {

std::string form_text(const ArrayShape& shape) {
  return fmt::format("{} of {}, {} cuts, encoded {}, layout {}", shape.numbers, real_name(shape), shape.cuts,
                     suffix(shape.encoding), static_cast<int>(shape.layout));
}

void require_same(const ArrayShape& a, const ArrayShape& b) {
  if (a.numbers == b.numbers && a.cuts == b.cuts && a.bits == b.bits && a.encoding == b.encoding &&
      a.layout == b.layout) {
    return;
  }
  throw Error(ErrorKind::usage, fmt::format("fuzzy arrays: found {} and {}, expected arrays of one length and form",
                                            form_text(a), form_text(b)));
}

void require_room(const ArrayShape& shape) {
  if (shape.numbers >= 1 && shape.cuts >= 1 && shape.cuts <= kMostCuts) return;
  throw Error(ErrorKind::usage, fmt::format("fuzzy array: found {} numbers of {} cuts, expected at least 1 of 1 to {}",
                                            shape.numbers, shape.cuts, kMostCuts));
}

template <class T>
[[noreturn]] void refuse_entry(T entry, std::int64_t place, std::int64_t columns) {
  throw Error(ErrorKind::input, fmt::format("matrix: found {} in row {}, column {}, expected a finite number", entry,
                                            place / columns, place % columns));
}

/// One real of memory.
template <class T>
T read_one(const Memory& memory, std::int64_t place) {
  T value{};
  memory.read(std::as_writable_bytes(std::span(&value, 1)), place * static_cast<std::int64_t>(sizeof(T)));
  return value;
}

/// The problem of a family whose axes are `first` and then those of a form.
Problem problem_of(const KernelFamily& family, std::vector<AxisValue> first, const ArrayShape& form) {
  first.insert(first.end(), {form.cuts, form.bits, static_cast<std::int64_t>(form.layout)});
  Problem problem = Problem::from(family.axes(), first);
  if (const auto why = misfit(problem, family.axes())) throw Error(ErrorKind::usage, *why);
  return problem;
}

/// The sizes of a formula's problem.
std::array<AxisValue, 4> map_sizes(const ArrayShape& shape) {
  return {shape.numbers, shape.cuts, shape.bits, static_cast<std::int64_t>(shape.layout)};
}

}  // namespace

Calculator::Calculator(Device& device, CalculatorOptions options)
    : device_(device), options_(std::move(options)), families_(builtin_families()), intake_(device) {
  if (options_.profiles.empty()) options_.profiles = ProfileStore::default_file();
}

Array Calculator::make(const ArrayShape& shape) { return {*this, shape, device_.allocate(shape.bytes())}; }

Array Calculator::array(const ArrayShape& shape, std::span<const std::byte> components) {
  require_room(shape);
  if (static_cast<std::int64_t>(components.size()) != shape.bytes()) {
    throw Error(ErrorKind::usage, fmt::format("fuzzy array: found {} bytes, expected {} for {}", components.size(),
                                              shape.bytes(), form_text(shape)));
  }
  ArrayShape given = shape;
  given.layout = kNumbers;
  require_fuzzy_numbers(components, given);
  Array result = make(shape);
  if (shape.layout == kNumbers) {
    result.memory_->write(components);
  } else {
    result.memory_->write(in_layout(components, given, shape.layout));
  }
  return result;
}

Array Calculator::array(Encoding encoding, const GivenNumbers& first, const GivenNumbers& second) {
  const ArrayShape shape{
      .encoding = encoding, .numbers = second.rows, .cuts = second.columns, .bits = second.bits, .layout = kNumbers};
  require_room(shape);
  const bool is_bounds = encoding == Encoding::lower_upper;
  if (first.rows != shape.numbers || first.columns != (is_bounds ? shape.cuts : 1) || first.bits != shape.bits) {
    throw Error(ErrorKind::usage, fmt::format("fuzzy array: found {} x {} numbers of {} bits beside {}", first.rows,
                                              first.columns, first.bits, form_text(shape)));
  }
  Array result = make(shape);
  const std::int64_t step = is_bounds ? 2 : 1;
  intake_.copy(first, *result.memory_, {.components = shape.components(), .first = 0, .step = step});
  intake_.copy(second, *result.memory_, {.components = shape.components(), .first = 1, .step = step});
  if (const auto wrong = intake_.first_fault(shape, *result.memory_)) {
    ArrayShape one = shape;
    one.numbers = 1;
    std::vector<std::byte> number(static_cast<std::size_t>(one.bytes()));
    result.memory_->read(number, *wrong * one.bytes());
    require_fuzzy_numbers(number, one, *wrong);
  }
  return result;
}

std::shared_ptr<Memory> Calculator::copy(const GivenNumbers& given) {
  std::shared_ptr<Memory> memory = device_.allocate(given.bytes());
  intake_.copy(given, *memory, {.components = given.columns, .first = 0, .step = 1});
  return memory;
}

Array Calculator::map(std::string_view formula, const std::map<std::string, Array, std::less<>>& inputs) {
  const Formula parsed(formula);
  std::vector<Array> arrays;
  arrays.reserve(parsed.names().size());
  for (const std::string& name : parsed.names()) {
    const auto found = inputs.find(name);
    if (found == inputs.end()) {
      throw Error(ErrorKind::usage, fmt::format("formula: found {}, which names no array", in_quotes(name)));
    }
    arrays.push_back(found->second);
  }
  return map(parsed, arrays);
}

Array Calculator::map(const Formula& formula, const std::vector<Array>& inputs) {
  if (inputs.size() != formula.names().size()) {
    throw Error(ErrorKind::usage, fmt::format("formula: found {} arrays, expected one for each of its {} names",
                                              inputs.size(), formula.names().size()));
  }
  const ArrayShape& shape = inputs.front().shape();
  for (const Array& input : inputs) require_same(shape, input.shape());
  CallableKernel& kernel = map_kernel(formula, shape.encoding);
  Array result = make(shape);
  std::vector<void*> pointers;
  pointers.reserve(inputs.size() + 1);
  for (const Array& input : inputs) pointers.push_back(input.memory()->pointer());
  pointers.push_back(result.memory()->pointer());
  ArrayForm form = shape.form();
  std::vector<void*> values;
  values.reserve(pointers.size() + 1);
  for (void*& pointer : pointers) values.push_back(static_cast<void*>(&pointer));
  values.push_back(&form);
  try {
    kernel.launch(map_sizes(shape), values.data(), std::nullopt);
  } catch (const DeviceFailure& failure) {
    if (failure.status() != Status::compilation) throw;
    if (options_.notice) {
      options_.notice(fmt::format(
          "no kernel could be compiled ({}): the number types evaluate the formula on this processor", failure.what()));
    }
    evaluate_here(formula, inputs, result);
  }
  return result;
}

void Calculator::evaluate_here(const Formula& formula, const std::vector<Array>& inputs, Array& result) const {
  std::vector<std::vector<std::byte>> contents;
  contents.reserve(inputs.size());
  std::vector<std::span<const std::byte>> views;
  views.reserve(inputs.size());
  for (const Array& input : inputs) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(input.shape().bytes()));
    input.memory()->read(bytes);
    views.emplace_back(contents.emplace_back(std::move(bytes)));
  }
  result.memory_->write(evaluate(formula, result.shape(), views));
}

KernelExplanation Calculator::explain_map(const Formula& formula, const ArrayShape& shape) {
  return map_kernel(formula, shape.encoding).explain(map_sizes(shape));
}

void Calculator::forget_choices() {
  kernels_.clear();
  plans_.clear();
}

CallableKernel& Calculator::kernel(const KernelFamily& family, std::vector<CallType> types) {
  const std::string name(family.name());
  if (const auto known = kernels_.find(name); known != kernels_.end()) return *known->second;
  // The best configuration is waited for: a program that computes little would otherwise compile two.
  auto kernel = std::make_unique<CallableKernel>(device_, family, knowledge(family), std::move(types),
                                                 TunedKernelOptions{.wait = true, .notice = options_.notice});
  return *kernels_.emplace(name, std::move(kernel)).first->second;
}

CallableKernel& Calculator::map_kernel(const Formula& formula, Encoding encoding) {
  const KernelFamily* family = families_.find(map_name(formula, encoding));
  if (family == nullptr) family = &families_.add(describe_map(formula, encoding));
  std::vector<CallType> types(formula.names().size(), call_type<const void*>());
  types.push_back(call_type<void*>());
  types.push_back(call_type<ArrayForm>());
  return kernel(*family, std::move(types));
}

Array Calculator::sum(const Array& x) {
  ArrayShape shape = x.shape();
  shape.numbers = 1;
  Array result = make(shape);
  const KernelFamily& family = sum_family(shape.encoding);
  run(family, problem_of(family, {x.size()}, shape), {{"x", x.memory()}, {"result", result.memory()}});
  return result;
}

Array Calculator::dot(const Array& x, const Array& y) {
  require_same(x.shape(), y.shape());
  ArrayShape shape = x.shape();
  shape.numbers = 1;
  Array result = make(shape);
  const KernelFamily& family = dot_family(shape.encoding);
  run(family, problem_of(family, {x.size()}, shape),
      {{"x", x.memory()}, {"y", y.memory()}, {"result", result.memory()}});
  return result;
}

template <class T>
Matrix Calculator::make_matrix(std::int64_t rows, std::int64_t columns, std::span<const T> values) {
  if (rows < 1 || columns < 1 || static_cast<std::int64_t>(values.size()) / columns != rows ||
      static_cast<std::int64_t>(values.size()) % columns != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("matrix: found {} numbers, expected {} rows of {}", values.size(), rows, columns));
  }
  const auto wrong = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (wrong != values.end()) {
    refuse_entry(*wrong, wrong - values.begin(), columns);
  }
  const auto memory = device_.allocate(static_cast<std::int64_t>(values.size_bytes()));
  memory->write(std::as_bytes(values));
  return {rows, columns, 8 * static_cast<std::int64_t>(sizeof(T)), memory};
}

Matrix Calculator::matrix(std::int64_t rows, std::int64_t columns, std::span<const float> values) {
  return make_matrix(rows, columns, values);
}
Matrix Calculator::matrix(std::int64_t rows, std::int64_t columns, std::span<const double> values) {
  return make_matrix(rows, columns, values);
}

Matrix Calculator::matrix(const GivenNumbers& given) {
  if (given.rows < 1 || given.columns < 1) {
    throw Error(ErrorKind::usage,
                fmt::format("matrix: found {} rows of {}, expected at least one of each", given.rows, given.columns));
  }
  const std::shared_ptr<Memory> memory = copy(given);
  if (const auto wrong = intake_.first_infinite(given.count(), given.bits, *memory)) {
    if (given.bits == 32) refuse_entry(read_one<float>(*memory, *wrong), *wrong, given.columns);
    refuse_entry(read_one<double>(*memory, *wrong), *wrong, given.columns);
  }
  return {given.rows, given.columns, given.bits, memory};
}

Array Calculator::product(const Matrix& matrix, const Array& vector) {
  if (matrix.columns() != vector.size() || matrix.bits() != vector.shape().bits) {
    throw Error(ErrorKind::usage, fmt::format("fuzzy product: found {} columns of {} bits and a vector of {}, expected "
                                              "one number for each column",
                                              matrix.columns(), matrix.bits(), form_text(vector.shape())));
  }
  constexpr std::int64_t kReal = 1;
  return multiply(*matrix.memory(), kReal, matrix.rows(), vector);
}

Array Calculator::product(const Array& matrix, const Array& vector) {
  const std::int64_t rows = matrix.size() / vector.size();
  ArrayShape whole = vector.shape();
  whole.numbers = rows * vector.size();
  if (rows == 0) whole.numbers = vector.size();
  require_same(matrix.shape(), whole);
  constexpr std::int64_t kFuzzy = 2;
  return multiply(*matrix.memory(), kFuzzy, rows, vector);
}

Array Calculator::multiply(Memory& matrix, std::int64_t entries, std::int64_t rows, const Array& vector) {
  ArrayShape shape = vector.shape();
  CallableKernel& matvec =
      kernel(matvec_family(shape.encoding), {call_type<const void*>(), call_type<const void*>(), call_type<void*>(),
                                             call_type<std::int64_t>(), call_type<ArrayForm>()});
  shape.numbers = rows;
  Array result = make(shape);
  const Problem problem = problem_of(matvec.family(), {rows, vector.size(), entries}, shape);
  std::array<void*, 3> pointers{matrix.pointer(), vector.memory()->pointer(), result.memory()->pointer()};
  ArrayForm form = vector.shape().form();
  std::array<void*, 5> values{static_cast<void*>(&pointers[0]), static_cast<void*>(&pointers[1]),
                              static_cast<void*>(&pointers[2]), static_cast<void*>(&rows), static_cast<void*>(&form)};
  matvec.launch(axis_values(problem, matvec.family().axes()), values.data(), std::nullopt);
  return result;
}

void Calculator::run(const KernelFamily& family, const Problem& problem, const Bindings& buffers) {
  const std::string name(family.name());
  auto plan = plans_.find(name);
  if (plan == plans_.end() || plan->second.problem() != problem) {
    plan = plans_
               .insert_or_assign(name, TunedPlan::choose(device_, share_dispatcher(device_, family, knowledge(family)),
                                                         problem, options_.notice))
               .first;
  }
  Execution& execution =
      plan->second.prepare({.samples = 1, .bind = [&](const TunedPlan&, const Plan&) { return buffers; }, .probe = {}});
  execution.launch();
  execution.synchronize();
}

template <class T>
Sorted Calculator::sort_by(const Array& numbers, std::span<const T> keys) {
  require_keys(numbers, static_cast<std::int64_t>(keys.size()), 8 * static_cast<std::int64_t>(sizeof(T)));
  const std::shared_ptr<Memory> memory = device_.allocate(static_cast<std::int64_t>(keys.size_bytes()));
  memory->write(std::as_bytes(keys));
  return sort_by(numbers, memory);
}

void Calculator::require_keys(const Array& numbers, std::int64_t count, std::int64_t bits) {
  const ArrayShape& shape = numbers.shape();
  if (shape.bits != bits) {
    throw Error(ErrorKind::usage,
                fmt::format("fuzzy sort: found keys of {} bits, expected {} as in the array", bits, shape.bits));
  }
  if (count != shape.numbers) {
    throw Error(ErrorKind::usage,
                fmt::format("fuzzy sort: found {} keys, expected one for each of {} numbers", count, shape.numbers));
  }
}

Sorted Calculator::sort_by(const Array& numbers, const std::shared_ptr<Memory>& keys) {
  const ArrayShape& shape = numbers.shape();
  const KernelFamily& family = sort_family(shape.encoding);
  Sorted result{.numbers = make(shape),
                .positions = std::vector<std::uint32_t>(static_cast<std::size_t>(shape.numbers))};
  const auto positions = device_.allocate(shape.numbers * static_cast<std::int64_t>(sizeof(std::uint32_t)));
  run(family, problem_of(family, {shape.numbers}, shape),
      {{"keys", keys}, {"numbers", numbers.memory()}, {"sorted", result.numbers.memory()}, {"positions", positions}});
  positions->read(std::as_writable_bytes(std::span(result.positions)));
  return result;
}

Sorted Calculator::sort(const Array& numbers, const GivenNumbers& keys) {
  require_keys(numbers, keys.count(), keys.bits);
  return sort_by(numbers, copy(keys));
}
Sorted Calculator::sort(const Array& numbers, std::span<const float> keys) { return sort_by(numbers, keys); }
Sorted Calculator::sort(const Array& numbers, std::span<const double> keys) { return sort_by(numbers, keys); }

Knowledge Calculator::knowledge(const KernelFamily& family) const {
  return ProfileStore(options_.profiles, ProfileStore::Access::read, families_).knowledge(std::string(family.name()));
}

}  // namespace heddle::fuzzy
