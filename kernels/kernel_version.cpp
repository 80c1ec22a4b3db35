#include "heddle/kernels/kernel_version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <random>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

// Chosen so that the digest takes a few milliseconds and still finds the changes of one number in a constraint or a
// launch that tests/kernels/kernel_version_test.cpp makes.
constexpr int kDrawn = 32;               // configurations of a problem, allowed or not
constexpr int kPlanned = 4;              // allowed configurations of a problem
constexpr std::size_t kMostSteps = 500;  // to find an allowed one
constexpr std::int64_t kUnits = 2;       // of work that a sample plan does

/// Sizes of the sample problems: small ones, and ones that no tile divides. Sample k takes number (k + i) mod 5 for
/// axis i, so that the axes differ.
constexpr std::array<std::int64_t, 5> kSizes{1, 3, 17, 96, 1000};

std::vector<Problem> sample_problems(const std::vector<Axis>& axes) {
  std::vector<Problem> problems;
  problems.reserve(kSizes.size());
  for (std::size_t k = 0; k < kSizes.size(); ++k) {
    std::vector<AxisValue> values;
    values.reserve(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Axis& axis = axes[i];
      AxisValue& value = values.emplace_back(std::clamp(kSizes[(k + i) % kSizes.size()], smallest(axis), axis.maximum));
      if (axis.optional && k % 2 == 1) value.reset();
    }
    problems.push_back(Problem::from(axes, values));
  }
  return problems;
}

/// Not std::uniform_int_distribution, whose numbers each standard library chooses.
std::size_t below(std::mt19937_64& random, std::size_t limit) { return static_cast<std::size_t>(random() % limit); }

/// One value for each parameter that has a meaning; constraints are not asked.
Configuration any_configuration(const SearchSpace& space, std::mt19937_64& random) {
  std::vector<Configuration::Entry> entries;
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.active && !parameter.active(Configuration(entries))) continue;
    entries.emplace_back(parameter.name, parameter.values[below(random, parameter.values.size())]);
  }
  return Configuration(std::move(entries));
}

/// What the constraints say. A constraint of a program's own may have no value at sizes that nobody asks for: it
/// divides by a size, or names one that is absent.
std::string verdict_on(const SearchSpace& space, const Configuration& configuration, const Problem& problem) {
  try {
    return space.violated(configuration, problem).value_or("allowed");
  } catch (const Error&) {
    return "undefined";
  }
}

/// A configuration that the constraints allow, unless many steps found none or a constraint has no value.
std::optional<Configuration> allowed_configuration(const SearchSpace& space, const Problem& problem,
                                                   std::mt19937_64& random) {
  std::optional<Configuration> found;
  const auto shuffle = [&](std::size_t, std::vector<SearchSpace::Level>& levels) {
    for (std::size_t i = levels.size(); i > 1; --i) std::swap(levels[i - 1], levels[below(random, i)]);
  };
  const auto take = [&](const Configuration& configuration, const std::vector<SearchSpace::Level>&) {
    found = configuration;
    return false;
  };
  try {
    space.walk(problem, shuffle, take, kMostSteps);
  } catch (const Error&) {
    return std::nullopt;
  }
  return found;
}

/// The text that is digested. Everything in it ends with a newline or a space, so that no two contracts have the same.
class Contract {
 public:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

  void add(const SearchSpace& space) {
    for (const Parameter& parameter : space.parameters()) {
      add("parameter {}:", parameter.name);
      for (const Value& value : parameter.values) add(" {}", heddle::text(value));
      add("\n");
    }
    for (const Constraint& constraint : space.constraints()) add("constraint {}\n", constraint.name);
  }

  void add(const Plan& plan) {
    add("plan of {} units{}\n", plan.samples, plan.captured ? ", captured" : "");
    for (const KernelInstance& kernel : plan.kernels) add("kernel {}\n", kernel.text());
    for (const Buffer& buffer : plan.buffers) {
      add("buffer {} {} {} {}{}{}\n", buffer.name, buffer.bytes, static_cast<int>(buffer.role), buffer.piece_bytes,
          buffer.symbol.empty() ? "" : " ", buffer.symbol);
    }
    for (const Launch& launch : plan.launches) add(launch);
  }

 private:
  void add(const Launch& launch) {
    add("launch {}{} {}x{}x{} {}x{}x{} {} {}{} {} {}:", launch.kernel, launch.routine, launch.grid.x, launch.grid.y,
        launch.grid.z, launch.block.x, launch.block.y, launch.block.z, launch.shared_bytes,
        launch.programmatic ? "p" : "", launch.resident ? "r" : "", launch.cluster, launch.piece);
    for (const Argument& argument : launch.arguments) add(argument);
    add("\n");
  }

  void add(const Argument& argument) {
    add(" {}:", argument.index());
    std::visit(
        [this](const auto& value) {
          using Type = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Type, BufferArgument>) {
            add("{}+{}", value.buffer, value.offset);
          } else if constexpr (std::is_same_v<Type, StructArgument>) {
            add("{}/{}", value.bytes.size(), value.alignment);
          } else {
            add("{}", value);
          }
        },
        argument);
  }

  std::string text_;
};

}  // namespace

bool comparable(const KernelVersion& a, const KernelVersion& b) {
  return a.source_hash == b.source_hash &&
         (a.contract_digest.empty() || b.contract_digest.empty() || a.contract_digest == b.contract_digest);
}

KernelVersion kernel_version(const KernelFamily& family, const DeviceIdentity& device) {
  return {.source_hash = family.source(device.backend).hash(), .contract_digest = contract_digest(family, device)};
}

std::string contract_digest(const KernelFamily& family, const DeviceIdentity& device) {
  Contract contract;
  contract.add("options {}\n", family.source(device.backend).options().text());
  const SearchSpace space = family.space(device);
  contract.add(space);
  std::mt19937_64 random(1);
  for (const Problem& problem : sample_problems(family.axes())) {
    contract.add("problem {}\n", problem.text());
    for (int i = 0; i < kDrawn; ++i) {
      const Configuration configuration = any_configuration(space, random);
      contract.add("{}: {}\n", configuration.text(), verdict_on(space, configuration, problem));
    }
    for (int i = 0; i < kPlanned; ++i) {
      const auto configuration = allowed_configuration(space, problem, random);
      if (!configuration) break;
      contract.add("{}\n", configuration->text());
      try {
        contract.add(family.plan(*configuration, problem, device, kUnits));
      } catch (const Error&) {  // a family that only recalls recorded times has no plans
        contract.add("no plan\n");
      }
    }
  }
  return digest(contract.text());
}

}  // namespace heddle
