// A DC load flow with loads that are known roughly: how much power can each line of the IEEE 14-bus test case carry?
//
// Buses, branches, reactances, tap ratios and loads: "14 Bus Power Flow Test Case" of the Power Systems Test Case
// Archive, University of Washington (1962 data, common format of 1993). Every load is a triangular fuzzy number: surely
// within 20 % of the archive's value, and at best that value itself. Bus 1 makes up for what the others leave over.
//
// In the DC approximation the flow of a branch is (angle of its one end - that of the other) / reactance, so the flows
// are a matrix (power transfer distribution factors) times what flows into the buses. The matrix is crisp and rounded
// like any such computation; the product with the fuzzy vector is rounded outwards.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/shapes.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"

namespace {

namespace fuzzy = heddle::fuzzy;
using Number = fuzzy::LowerUpper<double, 4>;

struct Branch {
  std::size_t from, to;  ///< buses, from 1
  double reactance;      ///< per unit
  double tap = 1.0;      ///< turns ratio of a transformer
};

constexpr std::size_t kBuses = 14;
constexpr std::array<Branch, 20> kBranches{
    {{1, 2, 0.05917},  {1, 5, 0.22304},  {2, 3, 0.19797},        {2, 4, 0.17632},        {2, 5, 0.17388},
     {3, 4, 0.17103},  {4, 5, 0.04211},  {4, 7, 0.20912, 0.978}, {4, 9, 0.55618, 0.969}, {5, 6, 0.25202, 0.932},
     {6, 11, 0.19890}, {6, 12, 0.25581}, {6, 13, 0.13027},       {7, 8, 0.17615},        {7, 9, 0.11001},
     {9, 10, 0.08450}, {9, 14, 0.27038}, {10, 11, 0.19207},      {12, 13, 0.19988},      {13, 14, 0.34802}}};
constexpr std::array<double, kBuses> kLoad{0, 21.7, 94.2, 47.8, 7.6, 11.2, 0,
                                           0, 29.5, 9.0,  3.5,  6.1, 13.5, 14.9};  // MW
constexpr std::array<double, kBuses> kGeneration{0, 40, 0, 0, 0, 0, 0,
                                                 0, 0,  0, 0, 0, 0, 0};  // MW; bus 1 takes the rest

double susceptance(const Branch& branch) { return 1.0 / (branch.reactance * branch.tap); }

using Square = std::vector<std::vector<double>>;

/// What flows into each bus but the first for angles of 1 at one bus and 0 elsewhere.
Square susceptances() {
  Square matrix(kBuses - 1, std::vector<double>(kBuses - 1, 0.0));
  for (const Branch& branch : kBranches) {
    const double b = susceptance(branch);
    const std::size_t i = branch.from - 1, j = branch.to - 1;
    if (i > 0) matrix[i - 1][i - 1] += b;
    if (j > 0) matrix[j - 1][j - 1] += b;
    if (i > 0 && j > 0) {
      matrix[i - 1][j - 1] -= b;
      matrix[j - 1][i - 1] -= b;
    }
  }
  return matrix;
}

/// The inverse of a matrix whose diagonal is large enough to need no exchange of rows (Gauss and Jordan).
Square inverse(Square matrix) {
  const std::size_t n = matrix.size();
  Square result(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) result[i][i] = 1.0;
  for (std::size_t pivot = 0; pivot < n; ++pivot) {
    const double scale = 1.0 / matrix[pivot][pivot];
    for (std::size_t j = 0; j < n; ++j) {
      matrix[pivot][j] *= scale;
      result[pivot][j] *= scale;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (i == pivot) continue;
      const double factor = matrix[i][pivot];
      for (std::size_t j = 0; j < n; ++j) {
        matrix[i][j] -= factor * matrix[pivot][j];
        result[i][j] -= factor * result[pivot][j];
      }
    }
  }
  return result;
}

/// Flow of each branch (rows) for 1 MW into each bus (columns) that bus 1 takes out again.
std::vector<double> transfer_factors() {
  const Square angle = inverse(susceptances());
  std::vector<double> factors;
  factors.reserve(kBranches.size() * kBuses);
  for (const Branch& branch : kBranches) {
    for (std::size_t bus = 0; bus < kBuses; ++bus) {
      const auto angle_at = [&](std::size_t end) { return end == 1 || bus == 0 ? 0.0 : angle[end - 2][bus - 1]; };
      factors.push_back(susceptance(branch) * (angle_at(branch.from) - angle_at(branch.to)));
    }
  }
  return factors;
}

/// The flows of the usual, crisp load flow, by another way: the angles from Gauss and Seidel's iteration.
std::vector<double> crisp_flows() {
  const Square matrix = susceptances();
  std::vector<double> angle(kBuses, 0.0);
  constexpr int kSweeps = 20000;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 1; i < kBuses; ++i) {
      double rest = kGeneration[i] - kLoad[i];
      for (std::size_t j = 1; j < kBuses; ++j) rest -= j == i ? 0.0 : matrix[i - 1][j - 1] * angle[j];
      angle[i] = rest / matrix[i - 1][i - 1];
    }
  }
  std::vector<double> flows;
  flows.reserve(kBranches.size());
  for (const Branch& branch : kBranches) {
    flows.push_back(susceptance(branch) * (angle[branch.from - 1] - angle[branch.to - 1]));
  }
  return flows;
}

/// To two digits behind the point, and without the sign of a zero.
double rounded(double megawatts) {
  constexpr double kDigits = 100.0;
  return std::round(kDigits * megawatts) / kDigits + 0.0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::array<double, Number::count> level{};
  for (int i = 0; i < Number::count; ++i) level[static_cast<std::size_t>(i)] = fuzzy::even_level(i, Number::count);

  double load_of_all = 0.0;
  std::vector<Number> injections;
  injections.reserve(kBuses);
  for (std::size_t bus = 0; bus < kBuses; ++bus) {
    const double load = kLoad[bus];
    load_of_all += load;
    injections.push_back(kGeneration[bus] - fuzzy::triangular<Number>(0.8 * load, load, 1.2 * load, level.data()));
  }

  // Choose a device, make arrays, compute, read back.
  const auto device = heddle::open_device(argc > 1 ? argv[1] : "");  // the best one here; "cuda:1" or "cpu" name one
  fuzzy::Calculator calculator(*device);
  const fuzzy::Matrix factors = calculator.matrix(kBranches.size(), kBuses, transfer_factors());
  const std::vector<Number> flows = calculator.product(factors, calculator.array(injections)).numbers<Number>();

  std::printf("%zu branches, loads of %.1f MW in all, each known to 20 %%; flows in MW on %s\n\n", kBranches.size(),
              load_of_all, device->label().c_str());
  std::printf("branch     level 0            level 1/3          level 2/3          level 1\n");
  const std::vector<double> usual = crisp_flows();
  double farthest = 0.0;
  bool nested = true;
  for (std::size_t i = 0; i < kBranches.size(); ++i) {
    std::printf("%2zu - %-2zu ", kBranches[i].from, kBranches[i].to);
    for (int cut = 0; cut + 1 < Number::count; ++cut) {
      std::printf("  [%7.2f,%7.2f]", rounded(flows[i].lower[cut]), rounded(flows[i].upper[cut]));
      nested = nested && contains(flows[i].cut(cut), flows[i].cut(cut + 1));
    }
    const auto top = flows[i].cut(Number::count - 1);
    const double middle = 0.5 * (top.lower + top.upper);
    std::printf("  %7.2f\n", rounded(middle));
    farthest = std::max(farthest, std::abs(middle - usual[i]));
  }
  constexpr double kTolerance = 1e-9;  // MW
  const bool right = nested && farthest <= kTolerance;
  std::printf("\nat level 1 the flows are those of the usual DC load flow: %s\n", right ? "yes" : "no");
  return right ? 0 : 1;
} catch (const heddle::Error& error) {
  std::fprintf(stderr, "fuzzy_load_flow: %s\n", error.what());
  return static_cast<int>(error.kind());
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzzy_load_flow: %s\n", error.what());
  return 1;
}
