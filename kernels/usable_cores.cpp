#include "heddle/kernels/usable_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace heddle {
namespace {

/// Of one group, the quota in periods; nothing if it has none: "max" in the second version, -1 in the first.
std::optional<double> quota_of(const std::filesystem::path& group) {
  const auto quotient = [](std::istream& quota, std::istream& period) -> std::optional<double> {
    double time = 0.0, of = 0.0;
    if (!(quota >> time) || !(period >> of) || time <= 0.0 || of <= 0.0) return std::nullopt;
    return time / of;
  };
  std::ifstream both(group / "cpu.max"), quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  return both ? quotient(both, both) : quotient(quota, period);
}

std::optional<double> least(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

unsigned allowed_cores() {
  // A mask that is too short for the machine's cores is refused.
  constexpr std::size_t kMost = std::size_t{1} << 16U;
  for (std::size_t cores = CPU_SETSIZE; cores <= kMost; cores *= 2) {
    std::vector<cpu_set_t> mask(cores / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) {
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(bytes, mask.data())));
    }
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::optional<double> quota_of_cores(std::string_view memberships, const std::filesystem::path& root) {
  std::optional<double> found;
  while (!memberships.empty()) {
    const std::string_view line = memberships.substr(0, memberships.find('\n'));
    memberships.remove_prefix(std::min(memberships.size(), line.size() + 1));
    // number:controllers:/group; the second version has the number 0 and names no controllers
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    // The first version has a folder for the controllers of a mount, and mostly a link for each of them.
    const std::filesystem::path mount = root / controllers;
    // In a container the group may be named as the machine outside knows it: then only its mount is to be seen.
    auto group =
        ("/" / std::filesystem::path(line.substr(second + 1)).relative_path()).lexically_normal().relative_path();
    for (; !group.empty(); group = group.parent_path()) found = least(found, quota_of(mount / group));
    found = least(found, quota_of(mount));
  }
  return found;
}

unsigned usable_cores() {
  static const unsigned cores = [] {
    std::ifstream file("/proc/self/cgroup");
    const std::string memberships{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const unsigned allowed = allowed_cores();
    const auto quota = quota_of_cores(memberships, "/sys/fs/cgroup");
    return quota && *quota < allowed ? std::max(1U, static_cast<unsigned>(std::ceil(*quota))) : allowed;
  }();
  return cores;
}

}  // namespace heddle
