#include "heddle/kernels/tsk/cuda/plan_writer.hpp"

#include "heddle/kernels/tsk/cuda/shapes.hpp"
#include "heddle/kernels/tsk/mapping.hpp"

namespace heddle::tsk {

Plan plan_with_buffers(const Problem& problem, int order, std::int64_t iterations) {
  const HostSizes sizes = sizes_of(problem, order);
  Plan plan;
  plan.buffers = common_buffers(problem, order, iterations);
  PlanWriter writer(plan);
  writer.scratch("before", sizeof(Progress));
  writer.scratch("solution", 8 * sizes.consequents());
  writer.scratch("info", 4);
  writer.scratch("gradient", 8 * sizes.slopes());
  return plan;
}

void PlanWriter::scratch(std::string name, std::int64_t bytes) {
  plan_.buffers.push_back({std::move(name), bytes, Role::scratch});
}

Buffer& PlanWriter::buffer(std::string_view name) const {
  return plan_.buffers[static_cast<std::size_t>(plan_.buffer(name))];
}

Argument PlanWriter::at(std::string_view buffer, std::int64_t offset) const {
  return BufferArgument{plan_.buffer(buffer), offset};
}

Launch& PlanWriter::launch(const std::string& kernel, const Geometry& geometry, std::vector<Argument> arguments,
                           const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t number : numbers) arguments.push_back(whole(number));
  const auto [x, y] = geometry.blocks;
  plan_.launches.push_back({.kernel = plan_.kernel("heddle::" + kernel),
                            .grid = {.x = static_cast<unsigned>(x), .y = static_cast<unsigned>(y)},
                            .block = {.x = static_cast<unsigned>(geometry.threads)},
                            .shared_bytes = geometry.shared_bytes,
                            .arguments = std::move(arguments)});
  return plan_.launches.back();
}

Launch& PlanWriter::launch_dividing(const std::string& kernel, const Geometry& geometry,
                                    std::vector<Argument> arguments, std::vector<std::int64_t> numbers) {
  numbers.push_back(geometry.shared_bytes / kWord);
  return launch(kernel, geometry, std::move(arguments), numbers);
}

void PlanWriter::call(const char* routine, std::vector<Argument> arguments, const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t number : numbers) arguments.push_back(whole(number));
  plan_.launches.push_back(
      {.kernel = -1, .grid = {}, .block = {}, .arguments = std::move(arguments), .routine = routine});
}

}  // namespace heddle::tsk
