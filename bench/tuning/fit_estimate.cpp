// The weights of resident_estimate() (kernels/sonfin/cuda/resident_estimate.cpp) from what a profile database measured.
//
//   fit_estimate profiles.sqlite ...
//
// Least squares of the relative error with weights of at least 0, by coordinate descent; what is much slower than the
// best at its problem says nothing about which of the fast ones is fastest, and is left out. Prints the weights in the
// order of the tables in the source.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/sonfin/cuda/resident_estimate.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using sonfin::ResidentShape;
using sonfin::ResidentTerm;

namespace {

struct Point {
  ResidentShape shape;
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
      found.push_back({.shape = ResidentShape(configuration, problem), .time = time});
    }
  }
  return found;
}

/// Counts of every term, a row for each point.
std::vector<std::vector<double>> counts(const std::vector<Point>& points, std::span<const ResidentTerm> terms) {
  std::vector<std::vector<double>> rows;
  for (const Point& point : points) {
    const sonfin::ResidentStep step(point.shape);
    std::vector<double>& row = rows.emplace_back();
    for (const ResidentTerm& term : terms) row.push_back(term.count(step));
  }
  return rows;
}

/// Nanoseconds for one of each.
std::vector<double> fit(const std::vector<Point>& points, const std::vector<std::vector<double>>& rows,
                        std::size_t terms) {
  constexpr double kRidge = 1e-5;  // of terms that are scaled to 1 at most
  constexpr int kSweeps = 20000;
  std::vector<double> scale(terms), weights(terms), right(terms);
  const auto relative = [&](std::size_t point, std::size_t term) { return rows[point][term] / points[point].time; };
  for (std::size_t p = 0; p < points.size(); ++p) {
    for (std::size_t i = 0; i < terms; ++i) scale[i] = std::max(scale[i], relative(p, i));
  }
  std::vector<std::vector<double>> gram(terms, std::vector<double>(terms));
  for (std::size_t p = 0; p < points.size(); ++p) {
    std::vector<double> row(terms);
    for (std::size_t i = 0; i < terms; ++i) row[i] = scale[i] > 0.0 ? relative(p, i) / scale[i] : 0.0;
    for (std::size_t i = 0; i < terms; ++i) {
      right[i] += row[i];
      for (std::size_t j = 0; j < terms; ++j) gram[i][j] += row[i] * row[j];
    }
  }
  for (std::size_t i = 0; i < terms; ++i) gram[i][i] += kRidge * static_cast<double>(points.size());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < terms; ++i) {
      if (scale[i] == 0.0) continue;
      double rest = right[i];
      for (std::size_t j = 0; j < terms; ++j) rest -= j == i ? 0.0 : gram[i][j] * weights[j];
      weights[i] = std::max(0.0, rest / gram[i][i]);
    }
  }
  for (std::size_t i = 0; i < terms; ++i) weights[i] = scale[i] > 0.0 ? 1e3 * weights[i] / scale[i] : 0.0;
  return weights;
}

void report(const std::string& name, ResidentShape::Link link, std::vector<Point> all) {
  std::erase_if(all, [&](const Point& point) { return point.shape.link != link; });
  const std::span<const ResidentTerm> terms = sonfin::resident_terms(link);
  const std::vector<std::vector<double>> rows = counts(all, terms);
  const std::vector<double> weights = fit(all, rows, terms.size());
  double squares = 0.0;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const double estimate = std::inner_product(weights.begin(), weights.end(), rows[p].begin(), 0.0);
    squares += std::pow(1e-3 * estimate / all[p].time - 1.0, 2);
  }
  fmt::print("{}: {} times, {:.1f} % off (root mean square)\n", name, all.size(),
             100.0 * std::sqrt(squares / static_cast<double>(std::max<std::size_t>(all.size(), 1))));
  for (std::size_t i = 0; i < terms.size(); ++i) fmt::print("  {:10.4g} ns  {}\n", weights[i], terms[i].name);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Weights of the estimate of resident kernels");
  std::vector<std::string> files;
  double slow = 1.4;
  app.add_option("profiles", files, "Profile databases")->required();
  app.add_option("--slow", slow, "Leaves out what is so many times slower than the best");
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("fit_estimate", [&] {
    const std::vector<Point> all = points(files, slow);
    report("block", ResidentShape::Link::block, all);
    report("cluster", ResidentShape::Link::cluster, all);
    report("grid", ResidentShape::Link::grid, all);
    return 0;
  });
}
