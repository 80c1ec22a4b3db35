#include "heddle/bench/tsk/truck.hpp"

#include <algorithm>
#include <array>

namespace heddle::bench {
namespace {

/// Where it rises and falls.
struct Trapezoid {
  double a, b, c, d;
  [[nodiscard]] double at(double value) const {
    if (value >= b && value <= c) return 1.0;
    if (value < b) return b > a ? std::max(0.0, (value - a) / (b - a)) : 0.0;
    return d > c ? std::max(0.0, (d - value) / (d - c)) : 0.0;
  }
};

constexpr std::array<Trapezoid, 5> kX{
    {{-1, 0, 10, 35}, {30, 40, 40, 50}, {45, 50, 50, 55}, {50, 60, 60, 70}, {65, 90, 100, 101}}};
constexpr std::array<Trapezoid, 7> kPhi{{{-100, -45, -45, 9},
                                         {-9, 22.5, 22.5, 54},
                                         {27, 58.5, 58.5, 90},
                                         {72, 90, 90, 108},
                                         {90, 121.5, 121.5, 153},
                                         {126, 157.5, 157.5, 189},
                                         {171, 225, 225, 280}}};
// NB, NM, NS, ZE, PS, PM, PB.
constexpr std::array<Trapezoid, 7> kSteering{{{-31, -30, -30, -15},
                                              {-25, -15, -15, -5},
                                              {-12, -6, -6, 0},
                                              {-5, 0, 0, 5},
                                              {0, 6, 6, 12},
                                              {5, 15, 15, 25},
                                              {15, 30, 30, 31}}};
// Rows phi, columns x: the set of the steering angle.
constexpr int kRules[7][5] = {{4, 5, 5, 6, 6}, {2, 4, 5, 6, 6}, {1, 2, 4, 5, 6}, {1, 1, 3, 5, 5},
                              {0, 1, 2, 4, 5}, {0, 0, 1, 2, 4}, {0, 0, 1, 1, 2}};
constexpr int kSteps = 241;  // of the centroid's integral: every quarter of a degree

}  // namespace

double truck_steering(double x, double phi) {
  std::array<double, 7> firing{};
  for (std::size_t row = 0; row < kPhi.size(); ++row) {
    for (std::size_t column = 0; column < kX.size(); ++column) {
      double& strength = firing[static_cast<std::size_t>(kRules[row][column])];
      strength = std::max(strength, std::min(kPhi[row].at(phi), kX[column].at(x)));
    }
  }
  double area = 0.0, moment = 0.0;
  for (int i = 0; i < kSteps; ++i) {
    const double angle = -30.0 + 60.0 * i / (kSteps - 1);
    double height = 0.0;
    for (std::size_t set = 0; set < kSteering.size(); ++set) {
      if (firing[set] > 0.0) height = std::max(height, std::min(firing[set], kSteering[set].at(angle)));
    }
    area += height;
    moment += height * angle;
  }
  return area > 0.0 ? moment / area : 0.0;
}

std::vector<TruckRow> truck_rows(int points) {
  std::vector<TruckRow> rows;
  rows.reserve(static_cast<std::size_t>(points) * static_cast<std::size_t>(points));
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const double x = 100.0 * i / (points - 1), phi = -90.0 + 360.0 * j / (points - 1);
      rows.push_back({.x = x, .phi = phi, .steering = truck_steering(x, phi)});
    }
  }
  return rows;
}

}  // namespace heddle::bench
