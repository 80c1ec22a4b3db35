// The weights of resident_estimate() (kernels/sonfin/cuda/resident_estimate.cpp) from what a profile database measured.
//
//   fit_estimate profiles.sqlite ...
//
// Least squares of the relative error with weights of at least 0, by coordinate descent; what is much slower than the
// best at its problem says nothing about which of the fast ones is fastest, and is left out. Prints a table, and the
// weights as they stand in the source.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/cuda/resident_estimate.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using sonfin::kResidentTerms;
using sonfin::ResidentShape;

namespace {

using Terms = std::array<double, kResidentTerms>;

struct Point {
  ResidentShape::Link link;
  Terms terms;
  double time;
};

/// The last of the files decides which device it is.
std::vector<Point> points(const std::vector<std::string>& files, double slow) {
  const KernelFamily& family = sonfin::train_family();
  std::map<Problem, std::map<std::string, double>> fastest;
  DeviceIdentity device;
  for (const std::string& file : files) {
    for (const Measurement& m : ProfileStore(file, ProfileStore::Access::read).measurements()) {
      if (m.key.family != family.name() || m.key.device.backend != "cuda" || m.times.empty()) continue;
      device = m.key.device;
      const auto [entry, fresh] = fastest[m.key.problem].try_emplace(m.configuration, median(m.times));
      if (!fresh) entry->second = std::min(entry->second, median(m.times));
    }
  }
  std::vector<Point> found;
  if (fastest.empty()) return found;
  const SearchSpace space = family.space(device);
  for (const auto& [problem, times] : fastest) {
    const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
    const double best = std::min_element(times.begin(), times.end(), faster)->second;
    for (const auto& [text, time] : times) {
      const Configuration configuration = space.parse(text);
      if (time > slow * best || !sonfin::is_resident(configuration)) continue;
      const ResidentShape shape(configuration, problem);
      found.push_back({.link = shape.link, .terms = sonfin::resident_terms(shape), .time = time});
    }
  }
  return found;
}

/// Microseconds for one of each.
Terms fit(const std::vector<Point>& points) {
  constexpr double kRidge = 1e-5;  // of terms that are scaled to 1 at most
  constexpr int kSweeps = 20000;
  Terms scale{}, weights{};
  for (const Point& point : points) {
    for (std::size_t i = 0; i < kResidentTerms; ++i) scale[i] = std::max(scale[i], point.terms[i] / point.time);
  }
  std::array<Terms, kResidentTerms> gram{};
  Terms right{};
  for (const Point& point : points) {
    Terms row{};
    for (std::size_t i = 0; i < kResidentTerms; ++i) {
      if (scale[i] > 0.0) row[i] = point.terms[i] / point.time / scale[i];
    }
    for (std::size_t i = 0; i < kResidentTerms; ++i) {
      right[i] += row[i];
      for (std::size_t j = 0; j < kResidentTerms; ++j) gram[i][j] += row[i] * row[j];
    }
  }
  for (std::size_t i = 0; i < kResidentTerms; ++i) gram[i][i] += kRidge * static_cast<double>(points.size());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < kResidentTerms; ++i) {
      if (scale[i] == 0.0) continue;
      double rest = right[i];
      for (std::size_t j = 0; j < kResidentTerms; ++j) rest -= j == i ? 0.0 : gram[i][j] * weights[j];
      weights[i] = std::max(0.0, rest / gram[i][i]);
    }
  }
  for (std::size_t i = 0; i < kResidentTerms; ++i) weights[i] = scale[i] > 0.0 ? weights[i] / scale[i] : 0.0;
  return weights;
}

void report(const std::string& name, ResidentShape::Link link, std::vector<Point> all) {
  std::erase_if(all, [&](const Point& point) { return point.link != link; });
  const Terms weights = fit(all);
  double squares = 0.0;
  for (const Point& point : all) {
    double estimate = 0.0;
    for (std::size_t i = 0; i < kResidentTerms; ++i) estimate += weights[i] * point.terms[i];
    squares += (estimate / point.time - 1.0) * (estimate / point.time - 1.0);
  }
  fmt::print("{}: {} times, {:.1f} % off (root mean square)\n", name, all.size(),
             100.0 * std::sqrt(squares / static_cast<double>(std::max<std::size_t>(all.size(), 1))));
  const auto names = sonfin::resident_term_names(link);
  for (std::size_t i = 0; i < kResidentTerms; ++i) {
    if (weights[i] > 0.0) fmt::print("  {:9.3f} ns  {}\n", 1e3 * weights[i], names[i]);
  }
  std::string source;
  for (const double weight : weights) source += fmt::format("{}{:.4g}", source.empty() ? "" : ", ", 1e3 * weight);
  fmt::print("  {{{}}},\n", source);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Weights of the estimate of resident kernels");
  std::vector<std::string> files;
  double slow = 1.4;
  app.add_option("profiles", files, "Profile databases")->required();
  app.add_option("--slow", slow, "Leaves out what is so many times slower than the best");
  CLI11_PARSE(app, argc, argv);
  const std::vector<Point> all = points(files, slow);
  report("block", ResidentShape::Link::block, all);
  report("cluster", ResidentShape::Link::cluster, all);
  report("grid", ResidentShape::Link::grid, all);
}
