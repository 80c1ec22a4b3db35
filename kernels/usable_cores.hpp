// How many cores a process may use. std::thread::hardware_concurrency() counts all that the machine has, also in a
// container or a batch job that was given few of them: so many threads would take turns on these, and what is timed
// beside them would wait.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace heddle {

/// Cores that the calling thread may run on, by its affinity mask; at least 1.
[[nodiscard]] unsigned allowed_cores();

/// For how many cores' time a process has a quota: the least of its control group and those around it, of cpu.max in
/// the second version of control groups and of cpu.cfs_quota_us in the first. `memberships`: the contents of
/// /proc/self/cgroup. `root`: where control groups are mounted. Nothing if there is no quota.
[[nodiscard]] std::optional<double> quota_of_cores(std::string_view memberships, const std::filesystem::path& root);

/// Threads that can work at a time: allowed_cores(), or as many as the quota has time for, rounded up, if these are
/// fewer. As it is when it is asked first; later a thread may have been bound to one core.
[[nodiscard]] unsigned usable_cores();

}  // namespace heddle
