// The truck backer-upper controller of Kosko (Neural Networks and Fuzzy Systems, 1992): a Mamdani system with 5 sets on
// the position x in 0..100, 7 on the angle phi in -90..270 degrees, 7 on the steering angle in -30..30 degrees and 35
// rules; minimum as AND and as implication, maximum over the rules, centroid.
#pragma once

#include <vector>

namespace heddle::bench {

/// In degrees.
[[nodiscard]] double truck_steering(double x, double phi);

struct TruckRow {
  double x, phi, steering;
};
/// A grid of `points` x `points` rows over both inputs, x after x.
[[nodiscard]] std::vector<TruckRow> truck_rows(int points);

}  // namespace heddle::bench
