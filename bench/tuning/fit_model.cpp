// The weights of the families' models of times from what profile databases measured, and how well they choose.
//
//   fit_model [--output shipped.json] [--remark TEXT] [--scratch] measured.sqlite ...
//
// For every family and device: the fit, its error at problems that were left out, and what the configuration with the
// lowest estimate loses at problems that were left out of the fit, beside the untuned default, as far as both were
// measured there. --output writes the models as a file for profiles/shipped/.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/profiles/cost_model.hpp"
#include "heddle/profiles/exchange.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/model_fit.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;

namespace {

constexpr std::size_t kParts = 10;  // of the problems, each left out once

struct Measured {
  const KernelFamily* family;
  DeviceIdentity device;
  std::vector<Measurement> measurements;  ///< oldest first
};

std::vector<Measured> measured(const std::vector<std::string>& files) {
  std::map<std::pair<std::string, DeviceIdentity>, std::vector<Measurement>> sorted;
  for (const std::string& file : files) {
    std::vector<Measurement> all = ProfileStore(file, ProfileStore::Access::read).measurements();
    std::ranges::reverse(all);
    for (Measurement& m : all) sorted[{m.key.family, m.key.device}].push_back(std::move(m));
  }
  std::vector<Measured> found;
  for (auto& [key, measurements] : sorted) {
    const KernelFamily* const family = builtin_families().find(key.first);
    if (family == nullptr || family->cost_terms(key.second.backend).empty()) continue;
    found.push_back({.family = family, .device = key.second, .measurements = std::move(measurements)});
  }
  return found;
}

/// The lowest cost of each configuration that was timed at a problem.
std::map<std::string, double> costs_at(const Measured& all, const Problem& problem) {
  std::map<std::string, double> costs;
  for (const Measurement& m : all.measurements) {
    if (m.key.problem != problem || m.visit != 0 || !m.cost) continue;
    costs.insert_or_assign(m.configuration, *m.cost);
  }
  return costs;
}

struct Losses {
  std::vector<double> of_choice, of_default;
  std::size_t unknown = 0;  ///< problems at which the choice was not measured

  void print(const char* name, const std::vector<double>& logs) const {
    double sum = 0.0;
    for (const double log : logs) sum += log;
    const double worst = logs.empty() ? 0.0 : *std::ranges::max_element(logs);
    fmt::print("  {}: loses {:.1f} % on average at {} problems, {:.1f} % at worst\n", name,
               100.0 * std::expm1(sum / static_cast<double>(std::max<std::size_t>(logs.size(), 1))), logs.size(),
               100.0 * std::expm1(worst));
  }
};

/// Each problem with a model that was fitted without its part of the problems.
Losses left_out(const Measured& all, const CostModel* prior) {
  std::set<Problem> distinct;
  for (const Measurement& m : all.measurements) distinct.insert(m.key.problem);
  const std::vector<Problem> problems(distinct.begin(), distinct.end());
  const SearchSpace space = all.family->space(all.device);
  Losses losses;
  for (std::size_t part = 0; part < std::min(kParts, problems.size()); ++part) {
    const auto is_out = [&](const Problem& problem) {
      const auto place = static_cast<std::size_t>(std::ranges::find(problems, problem) - problems.begin());
      return place % kParts == part;
    };
    std::vector<Measurement> others = all.measurements;
    std::erase_if(others, [&](const Measurement& m) { return is_out(m.key.problem); });
    const auto fitted = fit_model(*all.family, all.device, others, prior);
    if (!fitted) continue;
    const CostModel model(*all.family, all.device, *fitted, CostModel::Source::device);
    for (const Problem& problem : problems) {
      if (!is_out(problem)) continue;
      const std::map<std::string, double> costs = costs_at(all, problem);
      if (costs.empty()) continue;
      double best = costs.begin()->second;
      for (const auto& [text, cost] : costs) best = std::min(best, cost);
      std::optional<std::pair<double, std::string>> choice;
      for (const Configuration& configuration : space.enumerate(problem)) {
        const CostModel::Estimate estimate = model.estimate(configuration);
        if (!estimate) continue;
        const double expected = estimate(problem);
        if (!choice || expected < choice->first) choice.emplace(expected, configuration.text());
      }
      const auto untuned = costs.find(all.family->default_configuration(all.device, problem).text());
      const auto chosen = choice ? costs.find(choice->second) : costs.end();
      if (chosen == costs.end()) {
        ++losses.unknown;
        continue;
      }
      losses.of_choice.push_back(std::log(chosen->second / best));
      if (untuned != costs.end()) losses.of_default.push_back(std::log(untuned->second / best));
      fmt::print("    {}: chosen {:.3g}, best {:.3g}, default {:.3g}: {}\n", problem.text(), chosen->second, best,
                 untuned == costs.end() ? 0.0 : untuned->second, chosen->first);
    }
  }
  return losses;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Weights of the models of times");
  std::vector<std::string> files;
  std::string output, remark;
  bool scratch = false;
  app.add_option("profiles", files, "Profile databases")->required();
  app.add_option("--output", output, "Where to write the models");
  app.add_option("--remark", remark, "What to say of them in the file, in one line");
  app.add_flag("--scratch", scratch,
               "Begin with no weights rather than with those of another device or the shipped ones");
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("fit_model", [&] {
    ProfileStore store(":memory:", ProfileStore::Access::read_write);
    for (const Measured& all : measured(files)) {
      const auto prior = scratch ? std::nullopt : choose_model(*all.family, all.device, {}, nullptr, false);
      const auto begin = std::chrono::steady_clock::now();
      auto fitted = fit_model(*all.family, all.device, all.measurements, prior ? &*prior : nullptr);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (!fitted) {
        fmt::print("{} on {}: too little was measured\n", all.family->name(), all.device.name);
        continue;
      }
      fmt::print("{} on {}: {} measurements at {} problems, {:.1f} % off where they were left out; {:.2f} s\n",
                 all.family->name(), all.device.name, fitted->measurements, fitted->problems,
                 100.0 * fitted->left_out_error, seconds);
      for (const TermWeight& weight : fitted->weights) {
        fmt::print("  {:10.4g} ns  {}\n", 1e3 * weight.microseconds, weight.term);
      }
      const Losses losses = left_out(all, prior ? &*prior : nullptr);
      losses.print("lowest estimate", losses.of_choice);
      losses.print("untuned default", losses.of_default);
      fmt::print("  at {} problems the lowest estimate was not measured\n", losses.unknown);
      fitted->remark = remark;
      store.keep(*fitted);
    }
    if (!output.empty()) (void)export_profiles(store, output);
    return 0;
  });
}
