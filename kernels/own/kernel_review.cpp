#include "heddle/kernels/own/kernel_review.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr double kMostCounted = 20000.0;  // points; more are estimated
constexpr std::size_t kDescents = 2000;   // of an estimate
constexpr double kMostSeconds = 3.0;      // to count, and again to estimate: constraints may be dear
constexpr std::int64_t kWarpThreads = 32;

[[noreturn]] void refuse_problem(const DefinedFamily& family, const Problem& problem, const std::string& why) {
  throw Error(ErrorKind::input, fmt::format("kernel {} at {}: {}", family.name(), problem.text(), why));
}

Plan checked_plan(const DefinedFamily& family, const DeviceIdentity& device, const Problem& problem) {
  if (!family.checked_elsewhere() &&
      std::ranges::none_of(family.definition().arguments, &KernelArgument::is_compared)) {
    refuse_problem(family, problem, "no output is compared, so nothing would be verified");
  }
  const Configuration untuned = family.default_configuration(device, problem);
  if (const auto constraint = family.space(device).violated(untuned, problem)) {
    if (*constraint == kLaunchLimits) {
      const Plan plan = family.plan(untuned, problem, device, 1);  // says which of the sizes has no value
      refuse_problem(family, problem,
                     fmt::format("the default '{}' violates the {}: {}", untuned.text(), kLaunchLimits,
                                 beyond_limits(plan.launches.front(), device)->text()));
    }
    refuse_problem(family, problem,
                   fmt::format("the default '{}' violates the constraint {}", untuned.text(), in_quotes(*constraint)));
  }
  Plan plan = family.plan(untuned, problem, device, 1);
  double bytes = 0.0;
  for (const Buffer& buffer : plan.buffers) bytes += static_cast<double>(buffer.bytes);
  constexpr double kGib = 0x1p30;
  if (device.memory_gib > 0 && bytes > static_cast<double>(device.memory_gib) * kGib) {
    refuse_problem(family, problem,
                   fmt::format("the buffers have {:.1f} GiB, the device has {} GiB", bytes / kGib, device.memory_gib));
  }
  family.check_reference(problem, device);
  static_cast<void>(family.work(problem));
  return plan;
}

/// Throws errors that name the kernel and the problem.
Plan untuned_plan(const DefinedFamily& family, const DeviceIdentity& device, const Problem& problem) {
  try {
    return checked_plan(family, device, problem);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("kernel ")) throw;
    refuse_problem(family, problem, error.what());
  }
}

double product_of_values(const SearchSpace& space) {
  double product = 1.0;
  for (const Parameter& parameter : space.parameters()) product *= static_cast<double>(parameter.values.size());
  return product;
}

/// The names that expressions of the definition ask for.
std::set<std::string> asked_for(const KernelDefinition& kernel, const KernelCode& code) {
  std::set<std::string> names;
  const auto add = [&](const std::string& text) {
    if (text.empty()) return;
    for (const std::string& name : Expression(text).names()) names.insert(name);
  };
  for (const std::string& text : kernel.constraints) add(text);
  for (const std::string& text : code.grid) add(text);
  for (const std::string& text : code.block) add(text);
  add(code.shared_bytes);
  for (const auto& [macro, value] : code.macros) add(value);
  for (const KernelArgument& argument : kernel.arguments) {
    add(argument.elements);
    add(argument.value);
    for (const KernelArgument::Field& field : argument.fields) add(field.value);
  }
  for (std::size_t at = code.kernel.find('{'); at != std::string::npos; at = code.kernel.find('{', at + 1)) {
    add(code.kernel.substr(at + 1, code.kernel.find('}', at) - at - 1));
  }
  return names;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether `word` stands in `text` as a word of its own.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

/// The function's name without namespaces and template arguments.
std::string_view function_name(std::string_view kernel) {
  const std::string_view name = kernel.substr(0, kernel.find('<'));
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

class Reviewer {
 public:
  Reviewer(const DefinedFamily& family, const DeviceIdentity& device, const Problem& problem)
      : family_(family), device_(device), problem_(problem), space_(family.space(device)) {}

  KernelReview review() {
    review_.untuned = family_.default_configuration(device_, problem_);
    review_.plan = untuned_plan(family_, device_, problem_);
    count();
    look_at_names();
    look_at_launch();
    return std::move(review_);
  }

 private:
  template <class... Arguments>
  void doubt(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    review_.doubts.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  /// Of few points, it also finds constraints that decide nothing.
  void count() {
    const double product = product_of_values(space_);
    const bool conditional =
        std::ranges::any_of(space_.parameters(), [](const Parameter& p) { return bool(p.active); });
    const SearchSpace free(device_, space_.parameters(), {});
    std::vector<double> refused(space_.constraints().size());
    const Stop late = stop_after(kMostSeconds);
    const bool counted =
        product <= kMostCounted &&
        free.walk(problem_, {}, [&](const Configuration& configuration, const std::vector<SearchSpace::Level>&) {
          bool allowed = true;
          for (std::size_t i = 0; i < refused.size(); ++i) {
            if (space_.constraints()[i].holds(configuration, problem_, device_)) continue;
            allowed = false;
            ++refused[i];
          }
          ++review_.points.configurations;
          if (allowed) ++review_.allowed.configurations;
          return !late();
        });
    if (!counted) {
      review_.points = {
          .configurations = conditional ? free.estimate(problem_, kDescents, stop_after(kMostSeconds)) : product,
          .exact = !conditional};
      review_.allowed = {.configurations = space_.estimate(problem_, kDescents, stop_after(kMostSeconds)),
                         .exact = false};
      return;
    }
    for (std::size_t i = 0; i < refused.size(); ++i) {
      const std::string& name = space_.constraints()[i].name;
      if (refused[i] == 0.0 && name != kLaunchLimits) {
        doubt("the constraint {} refuses nothing at {}", in_quotes(name), problem_.text());
      }
    }
    if (review_.allowed.configurations <= 1.0) doubt("only the default is allowed: there is nothing to tune");
  }

  void look_at_names() {
    const KernelDefinition& kernel = family_.definition();
    const KernelCode& code = kernel.code.begin()->second;
    const std::set<std::string> names = asked_for(kernel, code);
    const auto in_source = [&](std::string_view word) {
      return has_word(code.text, word) ||
             std::ranges::any_of(code.headers, [&](const auto& header) { return has_word(header.second, word); });
    };
    for (const Axis& axis : kernel.axes) {
      if (axis.maximum > 1 && !names.contains(axis.name))
        doubt("no expression asks for the size {}", in_quotes(axis.name));
    }
    const bool is_template = code.kernel.find('<') != std::string::npos;
    std::set<std::string> conditions;
    for (const KernelDefinition::Tunable& parameter : kernel.parameters) {
      if (parameter.active.empty()) continue;
      for (const std::string& name : Expression(parameter.active).names()) conditions.insert(name);
    }
    for (const KernelDefinition::Tunable& parameter : kernel.parameters) {
      const std::string& name = parameter.name;
      if (names.contains(name) || conditions.contains(name) || (!is_template && in_source(name))) continue;
      doubt("the parameter {} changes nothing: neither the kernel nor an expression names it", in_quotes(name));
    }
    if (const std::string_view function = function_name(code.kernel); !in_source(function)) {
      doubt("the source has no {}", in_quotes(function));
    }
  }

  void look_at_launch() {
    const Launch& launch = review_.plan.launches.front();
    const std::int64_t threads = std::int64_t{launch.block.x} * launch.block.y * launch.block.z;
    if (runs_cuda_templates(device_.backend) && threads % kWarpThreads != 0) {
      doubt("a block of the default has {} threads, which is no multiple of a warp", threads);
    }
    for (const Buffer& buffer : review_.plan.buffers) {
      if (buffer.bytes == 0) doubt("the buffer {} has no elements at {}", in_quotes(buffer.name), problem_.text());
    }
    const Problem awkward = family_.awkward_problem();
    if (space_.violated(family_.default_configuration(device_, awkward), awkward)) {
      doubt("the default is not allowed at {}: nothing is verified at sizes that divide nothing", awkward.text());
      return;
    }
    try {
      family_.check_reference(awkward, device_);
    } catch (const Error& error) {
      doubt("at {}, contents whose file is missing are random, and a reference that cannot be had is the default: {}",
            awkward.text(), error.what());
    }
  }

  const DefinedFamily& family_;
  const DeviceIdentity& device_;
  const Problem& problem_;
  SearchSpace space_;
  KernelReview review_;
};

}  // namespace

void check_kernel(const DefinedFamily& family, const DeviceIdentity& device, const Problem& problem) {
  static_cast<void>(untuned_plan(family, device, problem));
}

KernelReview review_kernel(const DefinedFamily& family, const DeviceIdentity& device, const Problem& problem) {
  return Reviewer(family, device, problem).review();
}

}  // namespace heddle
