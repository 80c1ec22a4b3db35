// A family whose templates have a fault: a copy of today's, with some of the text replaced.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::test {

/// Some text of a template, and what comes in its place.
struct Replacement {
  std::string file;  ///< the end of its name
  std::string find;
  std::string replace;
};

/// Everything but the templates of one backend is that of the family. Fails the test if a text to be replaced is not
/// there, or is there more than once.
class PlantedFamily final : public KernelFamily {
 public:
  PlantedFamily(const KernelFamily& family, std::string_view backend, const std::vector<Replacement>& replacements)
      : family_(family) {
    std::vector<SourceFile> files = family.source(backend).files();
    for (const Replacement& replacement : replacements) {
      bool replaced = false;
      for (SourceFile& file : files) {
        if (!file.name.ends_with(replacement.file)) continue;
        std::string& text = texts_.emplace_back(file.text);
        const std::size_t at = text.find(replacement.find);
        REQUIRE_MESSAGE(at != std::string::npos, "no \"" << replacement.find << "\" in " << file.name);
        REQUIRE_MESSAGE(text.find(replacement.find, at + 1) == std::string::npos,
                        "several \"" << replacement.find << "\" in " << file.name);
        text.replace(at, replacement.find.size(), replacement.replace);
        file.text = text;
        replaced = true;
      }
      REQUIRE_MESSAGE(replaced, "no file " << replacement.file);
    }
    source_ = std::make_unique<TemplateSource>(std::move(files), family.source(backend).options());
  }

  std::string_view name() const override { return family_.name(); }
  std::string_view meaning() const override { return family_.meaning(); }
  const std::vector<Axis>& axes() const override { return family_.axes(); }
  std::string_view unit() const override { return family_.unit(); }
  WorkRange timed_work(const Problem& problem, const DeviceIdentity& device) const override {
    return family_.timed_work(problem, device);
  }
  std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    return family_.default_problems(device);
  }
  Problem awkward_problem() const override { return family_.awkward_problem(); }
  bool supports(std::string_view backend) const override { return family_.supports(backend); }
  const TemplateSource& source(std::string_view) const override { return *source_; }
  SearchSpace space(const DeviceIdentity& device) const override { return family_.space(device); }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    return family_.default_configuration(device, problem);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    return family_.named_configurations(device);
  }
  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return family_.kernels(configuration, problem, device);
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    return family_.plan(configuration, problem, device, samples);
  }
  Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    return family_.trial(configuration, problem, device, samples, seed);
  }
  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice run) const override {
    return family_.verification(device, seed, std::move(run));
  }
  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity& device) const override {
    return family_.host_threads(configuration, device);
  }
  Work work(const Problem& problem) const override { return family_.work(problem); }

 private:
  const KernelFamily& family_;
  std::deque<std::string> texts_;  ///< what the source refers to
  std::unique_ptr<TemplateSource> source_;
};

}  // namespace heddle::test
