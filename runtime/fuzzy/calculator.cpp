#include "heddle/runtime/fuzzy/calculator.hpp"

#include <fmt/format.h>

#include <array>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"
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
    : device_(device), options_(std::move(options)), families_(builtin_families()) {
  if (options_.profiles.empty()) options_.profiles = ProfileStore::default_file();
}

Array Calculator::make(const ArrayShape& shape) { return {*this, shape, device_.allocate(shape.bytes())}; }

Array Calculator::array(const ArrayShape& shape, std::span<const std::byte> components) {
  if (shape.numbers < 1 || shape.cuts < 1 || shape.cuts > kMostCuts) {
    throw Error(ErrorKind::usage,
                fmt::format("fuzzy array: found {} numbers of {} cuts, expected at least 1 of 1 to {}", shape.numbers,
                            shape.cuts, kMostCuts));
  }
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

CallableKernel& Calculator::map_kernel(const Formula& formula, Encoding encoding) {
  const std::string name = map_name(formula, encoding);
  if (const auto known = maps_.find(name); known != maps_.end()) return *known->second;
  const KernelFamily* family = families_.find(name);
  if (family == nullptr) family = &families_.add(describe_map(formula, encoding));
  std::vector<CallType> types(formula.names().size(), call_type<const void*>());
  types.push_back(call_type<void*>());
  types.push_back(call_type<ArrayForm>());
  // A formula's kernel is compiled when it is used, and no configuration of it is there before: the best is awaited.
  auto kernel = std::make_unique<CallableKernel>(device_, *family, knowledge(*family), std::move(types),
                                                 TunedKernelOptions{.wait = true, .notice = options_.notice});
  return *maps_.emplace(name, std::move(kernel)).first->second;
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
  const ArrayShape& shape = numbers.shape();
  if (shape.bits != 8 * static_cast<std::int64_t>(sizeof(T))) {
    throw Error(ErrorKind::usage, fmt::format("fuzzy sort: found keys of {} bits, expected {} as in the array",
                                              8 * sizeof(T), shape.bits));
  }
  if (static_cast<std::int64_t>(keys.size()) != shape.numbers) {
    throw Error(ErrorKind::usage, fmt::format("fuzzy sort: found {} keys, expected one for each of {} numbers",
                                              keys.size(), shape.numbers));
  }
  const KernelFamily& family = sort_family(shape.encoding);
  const auto key_memory = device_.allocate(static_cast<std::int64_t>(keys.size_bytes()));
  key_memory->write(std::as_bytes(keys));
  Sorted result{.numbers = make(shape), .positions = std::vector<std::uint32_t>(keys.size())};
  const auto positions = device_.allocate(shape.numbers * static_cast<std::int64_t>(sizeof(std::uint32_t)));
  run(family, problem_of(family, {shape.numbers}, shape),
      {{"keys", key_memory},
       {"numbers", numbers.memory()},
       {"sorted", result.numbers.memory()},
       {"positions", positions}});
  positions->read(std::as_writable_bytes(std::span(result.positions)));
  return result;
}

Sorted Calculator::sort(const Array& numbers, std::span<const float> keys) { return sort_by(numbers, keys); }
Sorted Calculator::sort(const Array& numbers, std::span<const double> keys) { return sort_by(numbers, keys); }

Knowledge Calculator::knowledge(const KernelFamily& family) const {
  return ProfileStore(options_.profiles, ProfileStore::Access::read, families_).knowledge(std::string(family.name()));
}

}  // namespace heddle::fuzzy
