#include "heddle/runtime/device/cpu/stolen_time.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

namespace heddle {
namespace {

/// Seconds since the machine's start, summed over its cores.
double stolen_so_far() {
  // "cpu user nice system idle iowait irq softirq steal ...", in ticks
  std::ifstream file("/proc/stat");
  std::string name;
  double ticks[8] = {};
  file >> name;
  for (double& value : ticks) {
    if (!(file >> value)) return 0.0;
  }
  return ticks[7] / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

StolenTime::StolenTime() : since_(std::chrono::steady_clock::now()), stolen_(stolen_so_far()) {}

double StolenTime::share() {
  const auto now = std::chrono::steady_clock::now();
  const double stolen = stolen_so_far();
  const double seconds = std::chrono::duration<double>(now - std::exchange(since_, now)).count();
  const double taken = stolen - std::exchange(stolen_, stolen);
  return seconds > 0.0 ? taken / seconds : 0.0;
}

}  // namespace heddle
