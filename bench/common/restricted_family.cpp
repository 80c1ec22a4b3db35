#include "heddle/bench/common/restricted_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle::bench {

RestrictedFamily::RestrictedFamily(const KernelFamily& whole, Allowed allowed)
    : ForwardingFamily(whole), allowed_(std::move(allowed)) {}

SearchSpace RestrictedFamily::space(const DeviceIdentity& device) const {
  const SearchSpace whole = ForwardingFamily::space(device);
  std::vector<Parameter> parameters = whole.parameters();
  for (Parameter& parameter : parameters) {
    const auto allowed = allowed_.find(parameter.name);
    if (allowed == allowed_.end()) continue;
    std::erase_if(parameter.values, [&](const Value& value) {
      return std::ranges::find(allowed->second, text(value)) == allowed->second.end();
    });
  }
  return {device,
          std::move(parameters),
          {{"allowed in the whole space", "",
            [whole](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
              return !whole.violated(configuration, problem);
            }}}};
}

Configuration RestrictedFamily::default_configuration(const DeviceIdentity& device, const Problem& problem) const {
  const std::vector<Configuration> all = space(device).enumerate(problem);
  if (all.empty()) throw Error(ErrorKind::usage, fmt::format("no configuration left for {}", problem.text()));
  return all.front();
}

const RestrictedFamily& atm_family() {
  static const RestrictedFamily family(sonfin::train_family(), {{"scheme", {"stepwise"}},
                                                                {"kernels", {"3"}},
                                                                {"vector", {"1"}},
                                                                {"reduction", {"shuffle"}},
                                                                {"launch", {"ordered"}}});
  return family;
}

const RestrictedFamily& captured_family() {
  static const RestrictedFamily family(sonfin::train_family(), {{"scheme", {"graph"}}});
  return family;
}

}  // namespace heddle::bench
