#include "heddle/runtime/device/provenance.hpp"

#include <unistd.h>

#include <array>
#include <ctime>

namespace heddle {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

Provenance host_provenance() {
  Provenance provenance;
  provenance.tool = "heddle " HEDDLE_VERSION;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) provenance.host = host.data();
  provenance.date = utc_now();
  return provenance;
}

}  // namespace heddle
