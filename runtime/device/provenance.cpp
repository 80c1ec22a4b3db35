#include "heddle/runtime/device/provenance.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>

namespace heddle {

namespace {

/// "2026-01-31T12:00:00"
std::string second_of(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return {text.data(), length};
}

}  // namespace

std::string utc_now() { return second_of(std::time(nullptr)) + "Z"; }

std::string utc_now_exactly() {
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  constexpr long kMillisecond = 1000000;  // nanoseconds
  return fmt::format("{}.{:03}Z", second_of(now.tv_sec), now.tv_nsec / kMillisecond);
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
