#include "heddle/tuner/replay/recorded_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

std::string contents(const RecordedSpace& recording) {
  std::string text;
  for (std::size_t i = 0; i < recording.configurations.size(); ++i) {
    const RecordedOutcome& outcome = recording.outcomes[i];
    text += fmt::format("\"{} {} {}\" ", recording.configurations[i].text(), heddle::text(outcome.status),
                        outcome.time.value_or(0.0));
  }
  return text;
}

}  // namespace

RecordedFamily::RecordedFamily(RecordedSpace recording)
    : recording_(std::move(recording)),
      name_("replay-" + recording_.name),
      contents_(contents(recording_)),
      source_(std::vector<SourceFile>{{.name = "recording", .text = contents_}}),
      values_(recording_.parameters.size()) {
  for (std::size_t i = 0; i < recording_.configurations.size(); ++i) {
    const Configuration& configuration = recording_.configurations[i];
    places_.emplace(configuration.text(), i);
    std::vector<Configuration::Entry> prefix;
    prefixes_.insert(std::string());
    for (const auto& entry : configuration.entries()) {
      prefix.push_back(entry);
      prefixes_.insert(Configuration(prefix).text());
      const auto parameter = std::find(recording_.parameters.begin(), recording_.parameters.end(), entry.first);
      auto& values = values_[static_cast<std::size_t>(parameter - recording_.parameters.begin())];
      if (std::find(values.begin(), values.end(), entry.second) == values.end()) values.push_back(entry.second);
    }
  }
  for (auto& values : values_) std::sort(values.begin(), values.end());
  const std::size_t reached = space(device()).enumerate(problem()).size();
  if (reached != recording_.configurations.size()) {
    throw Error(ErrorKind::input,
                fmt::format("{}: {} of {} configurations lack a parameter that others like them have", recording_.name,
                            recording_.configurations.size() - reached, recording_.configurations.size()));
  }
}

const std::vector<Axis>& RecordedFamily::axes() const {
  static const std::vector<Axis> axes{{.name = "configurations"}};
  return axes;
}

Problem RecordedFamily::problem() const {
  return Problem({{.name = "configurations", .value = static_cast<std::int64_t>(recording_.configurations.size())}});
}

DeviceIdentity RecordedFamily::device() const {
  DeviceIdentity device;
  device.backend = "replay";
  device.name = recording_.device.empty() ? recording_.name : recording_.device;
  device.architecture = "recorded";
  device.units = 1;  // an export refuses a device without any
  return device;
}

const RecordedOutcome& RecordedFamily::outcome(const Configuration& configuration) const {
  return recording_.outcomes[places_.at(configuration.text())];
}

SearchSpace RecordedFamily::space(const DeviceIdentity& device) const {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  for (std::size_t p = 0; p < recording_.parameters.size(); ++p) {
    const std::string& name = recording_.parameters[p];
    // Called for every prefix of a configuration, so the branches that were not recorded end at once.
    const auto active = [this, &name, p](const Configuration& before) {
      return std::any_of(values_[p].begin(), values_[p].end(), [&](const Value& value) {
        std::vector<Configuration::Entry> longer = before.entries();
        longer.emplace_back(name, value);
        return prefixes_.contains(Configuration(std::move(longer)).text());
      });
    };
    parameters.push_back({.name = name, .values = values_[p], .meaning = "recorded", .active = active});
    constraints.push_back({.name = "was recorded",
                           .last = name,
                           .holds = [this](const Configuration& configuration, const Problem&, const DeviceIdentity&) {
                             return prefixes_.contains(configuration.text());
                           }});
  }
  constraints.push_back({.name = "was recorded",
                         .last = "",
                         .holds = [this](const Configuration& configuration, const Problem&, const DeviceIdentity&) {
                           return places_.contains(configuration.text());
                         }});
  return {device, std::move(parameters), std::move(constraints)};
}

Plan RecordedFamily::plan(const Configuration&, const Problem&, const DeviceIdentity&, std::int64_t) const {
  throw Error(ErrorKind::bug, "a recording has no kernels");
}

Trial RecordedFamily::trial(const Configuration&, const Problem&, const DeviceIdentity&, std::int64_t,
                            std::uint64_t) const {
  throw Error(ErrorKind::bug, "a recording has no kernels");
}

std::unique_ptr<Verification> RecordedFamily::verification(const DeviceIdentity&, std::uint64_t, RunOnDevice) const {
  throw Error(ErrorKind::bug, "a recording has no kernels");
}

}  // namespace heddle
