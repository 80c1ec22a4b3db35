#include "heddle/bench/common/vintage.hpp"

#include <algorithm>
#include <string>

#include "heddle/kernels/template_source.hpp"

namespace heddle::bench {

nlohmann::ordered_json template_digests(const std::vector<const KernelFamily*>& families, std::string_view backend) {
  nlohmann::ordered_json digests = nlohmann::ordered_json::object();
  for (const KernelFamily* family : families) {
    if (family->supports(backend)) digests[std::string(family->name())] = family->source(backend).hash();
  }
  return {{std::string(backend), digests}};
}

}  // namespace heddle::bench
