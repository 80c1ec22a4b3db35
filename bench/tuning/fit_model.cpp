// The weights of the families' models of times from what profile databases measured, and how well they choose.
//
//   fit_model [--output shipped.json] [--remark TEXT] [--scratch] measured.sqlite ...
//
// For every family and device: the fit, its error at problems that were left out, and what is lost at problems that
// were left out of the fit, as far as it was measured there: by the configuration with the lowest estimate, by the one
// that the dispatcher chooses from the profiles of the other problems, and by the untuned default. --output writes the
// models as a file for profiles/shipped/.
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
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/runtime/dispatch/expected_fastest.hpp"
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
  std::vector<Profile> profiles;
};

std::vector<Measured> measured(const std::vector<std::string>& files) {
  std::map<std::pair<std::string, DeviceIdentity>, std::vector<Measurement>> sorted;
  std::vector<Profile> profiles;
  for (const std::string& file : files) {
    const ProfileStore store(file, ProfileStore::Access::read);
    std::vector<Measurement> all = store.measurements();
    std::ranges::reverse(all);
    for (Measurement& m : all) sorted[{m.key.family, m.key.device}].push_back(std::move(m));
    for (const Profile& profile : store.profiles()) profiles.push_back(profile);
  }
  std::vector<Measured> found;
  for (auto& [key, measurements] : sorted) {
    const auto& [name, device] = key;
    const KernelFamily* const family = builtin_families().find(name);
    if (family == nullptr || family->cost_terms(device.backend).empty()) continue;
    std::vector<Profile> own;
    for (const Profile& profile : profiles) {
      if (profile.key.family == name && profile.key.device == device) own.push_back(profile);
    }
    found.push_back(
        {.family = family, .device = device, .measurements = std::move(measurements), .profiles = std::move(own)});
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

/// What a way to choose loses against the fastest that was measured, problem by problem.
struct Losses {
  const char* name;
  std::vector<double> logs = {};
  std::size_t unknown = 0;  ///< problems at which the choice was not measured

  void add(const std::map<std::string, double>& costs, const std::string& choice, double best) {
    const auto chosen = costs.find(choice);
    if (chosen == costs.end()) {
      ++unknown;
    } else {
      logs.push_back(std::log(chosen->second / best));
    }
  }
  void print() const {
    double sum = 0.0;
    for (const double log : logs) sum += log;
    const double worst = logs.empty() ? 0.0 : *std::ranges::max_element(logs);
    fmt::print("  {}: loses {:.1f} % on average at {} problems, {:.1f} % at worst; not measured at {}\n", name,
               100.0 * std::expm1(sum / static_cast<double>(std::max<std::size_t>(logs.size(), 1))), logs.size(),
               100.0 * std::expm1(worst), unknown);
  }
};

/// Each problem with a model that was fitted without its part of the problems, and without its profile.
std::vector<Losses> left_out(const Measured& all, const CostModel* prior) {
  std::set<Problem> distinct;
  for (const Measurement& m : all.measurements) distinct.insert(m.key.problem);
  const std::vector<Problem> problems(distinct.begin(), distinct.end());
  const SearchSpace space = all.family->space(all.device);
  Losses estimated{"lowest estimate"}, dispatched{"the dispatcher's choice"}, untuned{"untuned default"};
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
      if (const auto lowest = expected_fastest(space, model, problem)) {
        estimated.add(costs, lowest->configuration.text(), best);
      }
      untuned.add(costs, all.family->default_configuration(all.device, problem).text(), best);

      std::vector<Profile> elsewhere = all.profiles;
      std::erase_if(elsewhere, [&](const Profile& profile) { return profile.key.problem == problem; });
      const Dispatcher dispatcher(all.device, *all.family, Knowledge(std::move(elsewhere), {*fitted}));
      const Candidate choice = dispatcher.choose(problem);
      const std::string chosen = choice.configuration.text();
      dispatched.add(costs, chosen, best);
      const auto cost = costs.find(chosen);
      fmt::print("    {}: best {:.3g}, chosen {:.3g}: {}; {}\n", problem.text(), best,
                 cost == costs.end() ? 0.0 : cost->second, chosen, choice.reason);
    }
  }
  return {estimated, dispatched, untuned};
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
      for (const Losses& losses : left_out(all, prior ? &*prior : nullptr)) losses.print();
      fitted->remark = remark;
      store.keep(*fitted);
    }
    if (!output.empty()) (void)export_profiles(store, output);
    return 0;
  });
}
