#include "heddle/bench/common/vintage.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/shipped_models.hpp"

namespace heddle::bench {

namespace {

using Json = nlohmann::ordered_json;

/// Stands for every device of a backend. Its numbers are those of a card of today and of a usual processor.
DeviceIdentity sample_device(std::string_view backend) {
  const bool gpu = runs_cuda_templates(backend);
  return {.backend = std::string(backend),
          .name = "sample",
          .architecture = gpu ? "9.0" : "x86-64-v4",
          .units = gpu ? 132 : 16,
          .memory_gib = gpu ? 80 : 0,
          .cache_bytes = std::int64_t{48} << 20,
          .local_bytes = gpu ? 232448 : std::int64_t{1} << 20};
}

}  // namespace

Json template_digests(const std::vector<const KernelFamily*>& families, std::string_view backend) {
  Json digests = Json::object();
  for (const KernelFamily* family : families) {
    if (family->supports(backend)) digests[std::string(family->name())] = family->source(backend).hash();
  }
  return {{std::string(backend), digests}};
}

Json choice_digests(const std::vector<const KernelFamily*>& families, std::string_view backend) {
  const DeviceIdentity device = sample_device(backend);
  Json spaces = Json::object(), weights = Json::object();
  for (const KernelFamily* family : families) {
    const std::string name(family->name());
    if (family->supports(backend)) spaces[name] = space_digest(*family, device);
    for (const FittedModel& model : shipped_models()) {
      if (model.family == name && model.device.backend == backend) weights[name] = weights_digest(model);
    }
  }
  return {{"spaces", {{device.backend, spaces}}}, {"weights", {{device.backend, weights}}}};
}

std::string space_digest(const KernelFamily& family, const DeviceIdentity& device) {
  std::string text = contract_digest(family, device) + "\n";
  for (const Problem& problem : family.default_problems(device)) {
    fmt::format_to(std::back_inserter(text), "{}: {}\n", problem.text(),
                   family.default_configuration(device, problem).text());
    for (const Configuration& likely : family.likely_configurations(device, problem)) text += likely.text() + "\n";
  }
  return digest(text);
}

std::string weights_digest(const FittedModel& model) {
  std::string text;
  for (const TermWeight& weight : model.weights) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", weight.term, weight.microseconds);
  }
  return digest(text);
}

}  // namespace heddle::bench
