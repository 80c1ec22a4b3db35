#include "heddle/tuner/energy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "heddle/tuner/stop_condition.hpp"

namespace heddle {

namespace {

constexpr double kLook = 0.01;     // seconds of launches between two looks at the counter, which may take a millisecond
constexpr double kSettling = 0.2;  // seconds until clocks and power have followed the load
constexpr double kWindow = 1.0;    // seconds; a hundred times kLook
constexpr double kDead = 10.0;     // seconds without a move, after which the counter counts as dead
constexpr int kFewestLooks = 10;   // before that

}  // namespace

std::optional<double> joules_of_launch(const EnergySource& source) {
  const auto now = source.now ? source.now : StopCondition::steady_clock();
  std::optional<double> last = source.joules();
  if (!last) return std::nullopt;
  source.launch();
  source.wait();
  const double start = now();
  source.launch();
  source.wait();
  const double seconds = std::max(now() - start, 1e-7);
  const auto launches_of_look = static_cast<std::int64_t>(std::clamp(std::ceil(kLook / seconds), 1.0, 1e5));

  struct Mark {
    double joules = 0.0, seconds = 0.0;
    std::int64_t launches = 0;
  };
  std::optional<Mark> first;
  std::int64_t launches = 0;
  double moved = start;
  for (int looks = 0; looks < kFewestLooks || now() - moved < kDead; ++looks) {
    for (std::int64_t i = 0; i < launches_of_look; ++i) source.launch();
    source.wait();
    launches += launches_of_look;
    const std::optional<double> present = source.joules();
    if (!present) return std::nullopt;
    if (*present == *last) continue;
    last = present;
    moved = now();
    looks = 0;
    if (moved - start < kSettling) continue;
    const Mark mark{.joules = *present, .seconds = moved, .launches = launches};
    if (!first) {
      first = mark;
    } else if (mark.seconds - first->seconds >= kWindow) {
      return (mark.joules - first->joules) / static_cast<double>(mark.launches - first->launches);
    }
  }
  return std::nullopt;
}

}  // namespace heddle
