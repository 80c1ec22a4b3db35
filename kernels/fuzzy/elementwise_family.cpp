#include "heddle/kernels/fuzzy/elementwise_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include "heddle/kernels/fuzzy/cpu_space.hpp"

namespace heddle::fuzzy {
namespace {

/// Cuts that a thread does.
std::int64_t cuts_of_slice(const Configuration& configuration, const ArrayShape& shape) {
  const std::int64_t slice = configuration.number("slice");
  return slice == 0 ? shape.cuts : slice;
}

unsigned blocks_for(std::int64_t tasks, std::int64_t of_block) {
  return static_cast<unsigned>((tasks + of_block - 1) / of_block);
}

/// The shape of all arrays of a problem.
ArrayShape array_of(const Problem& problem, Encoding encoding) {
  return shape_of(problem, encoding, problem.at("numbers"));
}

}  // namespace

std::vector<Problem> ElementwiseFamily::default_problems(const DeviceIdentity& device) const {
  const std::int64_t count = device.backend == "cuda" ? 1 << 20 : device.backend == "cpu" ? 20000 : 500;
  std::vector<Problem> problems;
  problems.reserve(2);
  for (const auto& [bits, layout] : {std::pair(64, kCuts), std::pair(32, kNumbers)}) {
    std::vector<AxisValue> values{count};
    values.reserve(axes().size());
    for (const Problem::Size& own : own_sizes(false)) values.emplace_back(own.value);
    values.insert(values.end(), {4, bits, layout});
    problems.push_back(Problem::from(axes(), values));
  }
  return problems;
}

Problem ElementwiseFamily::awkward_problem() const {
  std::vector<AxisValue> values{517};
  values.reserve(axes().size());
  for (const Problem::Size& own : own_sizes(true)) values.emplace_back(own.value);
  values.insert(values.end(), {3, 64, kNumbers});
  return Problem::from(axes(), values);
}

SearchSpace ElementwiseFamily::space(const DeviceIdentity& device) const {
  std::vector<Constraint> constraints = form_constraints();
  if (device.backend == "cpu") {
    return {device,
            {{.name = "tile",
              .values = numbers({256, 64, 1024}),
              .meaning = "numbers that a thread takes at a time",
              .active = {}},
             threads_parameter(device)},
            std::move(constraints)};
  }
  constraints.push_back(
      {.name = "a slice is a part of a number's cuts",
       .last = "slice",
       .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
         const std::int64_t slice = configuration.number("slice"), cuts = problem.at("cuts");
         return slice == 0 || (slice < cuts && cuts % slice == 0);
       }});
  constraints.push_back(
      {.name = "a vector is at most 16 bytes, of numbers that are neighbours and that it divides",
       .last = "vector",
       .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
         const std::int64_t vector = configuration.number("vector");
         return vector == 1 || (problem.at("layout") == kCuts && problem.at("numbers") % vector == 0 &&
                                vector * problem.at("bits") <= 128);
       }});
  return {
      device,
      {{.name = "slice",
        .values = works_cut_by_cut() ? numbers({0, 1, 2, 3, 4, 6, 8, 12, 16}) : numbers({0}),
        .meaning = "cuts of a number that a thread does; 0: all of them",
        .active = {}},
       {.name = "vector",
        .values = numbers({1, 2, 4}),
        .meaning = "neighbouring numbers that a thread loads at once",
        .active = {}},
       {.name = "coarsen_count",
        .values = numbers({1, 2, 4}),
        .meaning = "slices that a thread does, a block apart",
        .active = {}},
       {.name = "block_size", .values = numbers({128, 256, 64, 512}), .meaning = "threads of a block", .active = {}}},
      std::move(constraints)};
}

Configuration ElementwiseFamily::default_configuration(const DeviceIdentity& device, const Problem& problem) const {
  if (device.backend == "cpu") {
    return space(device).parse(fmt::format("tile=256 threads={}", cores_of(device)));
  }
  const std::int64_t slice = works_cut_by_cut() ? untuned_slice(problem) : 0;
  return space(device).parse(
      fmt::format("slice={} vector=1 coarsen_count=1 block_size=128", slice < problem.at("cuts") ? slice : 0));
}

Kernels ElementwiseFamily::kernels(const Configuration& configuration, const Problem& problem,
                                   const DeviceIdentity& device) const {
  const ArrayShape shape = array_of(problem, encoding());
  if (device.backend == "cpu") return {cpu_kernel(configuration, shape, floats_in_vector(device.architecture))};
  return {fmt::format("{}<{}, {}, {}, {}, {}>", cuda_kernel(), array_name(shape), cuts_of_slice(configuration, shape),
                      configuration.number("vector"), configuration.number("coarsen_count"),
                      configuration.number("block_size"))};
}

Plan ElementwiseFamily::once(const Configuration& configuration, const Problem& problem,
                             const DeviceIdentity& device) const {
  const ArrayShape shape = array_of(problem, encoding());
  Plan plan;
  plan.kernels = kernels(configuration, problem, device);
  Launch launch;
  if (device.backend == "cpu") {
    launch.grid.x = static_cast<unsigned>(configuration.number("threads"));
  } else {
    const std::int64_t slices = shape.cuts / cuts_of_slice(configuration, shape);
    const std::int64_t block = configuration.number("block_size"),
                       of_block = block * configuration.number("coarsen_count");
    launch.block.x = static_cast<unsigned>(block);
    if (shape.layout == kNumbers) {
      launch.grid.x = blocks_for(shape.numbers * slices, of_block);
    } else {
      launch.grid = {.x = blocks_for(shape.numbers / configuration.number("vector"), of_block),
                     .y = static_cast<unsigned>(slices)};
    }
  }
  const auto add = [&](const std::string& name, Role role) {
    launch.arguments.emplace_back(BufferArgument{static_cast<int>(plan.buffers.size()), 0});
    plan.buffers.push_back({.name = name, .bytes = shape.bytes(), .role = role});
  };
  for (const std::string& name : inputs()) add(name, Role::input);
  add("result", Role::output);
  launch.arguments.emplace_back(StructArgument(shape.form()));
  for (Argument& own : own_arguments(problem)) launch.arguments.push_back(std::move(own));
  plan.launches = {std::move(launch)};
  plan.samples = 1;
  return plan;
}

HostImage ElementwiseFamily::contents(const Problem& problem, std::uint64_t seed, NumberKind kind) const {
  const ArrayShape shape = array_of(problem, encoding());
  HostImage image;
  for (const std::string& name : inputs())
    image[name] = random_array(shape, seed + image.size(), kind, period(problem));
  return image;
}

/// All arrays repeat with one period, so the result does, too.
HostImage ElementwiseFamily::expected(const Problem& problem, const HostImage& contents) const {
  const ArrayShape shape = array_of(problem, encoding());
  ArrayShape period = shape;
  period.numbers = std::min(shape.numbers, this->period(problem));
  std::vector<std::vector<std::byte>> begins;
  std::vector<std::span<const std::byte>> views;
  begins.reserve(inputs().size());
  views.reserve(inputs().size());
  for (const std::string& name : inputs()) {
    views.emplace_back(begins.emplace_back(first_numbers(contents.find(name)->second, shape, period)));
  }
  HostImage image;
  image["result"] = repeated(evaluated(problem, period, views), period, shape);
  return image;
}

Work ElementwiseFamily::work(const Problem& problem) const {
  const ArrayShape shape = array_of(problem, encoding());
  return {.bytes = static_cast<double>(shape.bytes()) * static_cast<double>(inputs().size() + 1),
          .operations = static_cast<double>(shape.numbers * shape.cuts) * operations(problem)};
}

}  // namespace heddle::fuzzy
