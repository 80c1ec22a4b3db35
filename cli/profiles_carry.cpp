// heddle profiles export | import | verify | prune

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/cli/profiles.hpp"
#include "heddle/cli/result_file.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/profiles/exchange.hpp"
#include "heddle/tuner/remeasure.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"

namespace heddle::cli {
namespace {

/// " and 2 models of times"; empty for none.
std::string models_text(std::size_t count) {
  return count == 0 ? "" : fmt::format(" and {}", counted(count, "model of times", "models of times"));
}

int export_to(const Context& context, const ProfileOptions& options) {
  const ProfileStore store =
      open_present_profiles(context, options.profiles, ProfileStore::Access::read, options.common);
  check_stored_family(store, options.family);
  claim_result_file("FILE", options.file, {}, store.file().string());
  const Exported exported = export_profiles(store, options.file, options.family);
  if (options.common.json) {
    Json left_out = Json::array();
    for (const auto& [profile, reason] : exported.left_out) {
      left_out.push_back({{"family", profile.key.family},
                          {"device", to_json(profile.key.device)},
                          {"problem", to_json(profile.key.problem)},
                          {"objective", profile.key.goal.objective},
                          {"cold_cache", profile.key.goal.cold_cache},
                          {"reason", reason}});
    }
    print_document("profiles export", {{"profiles", store.file().string()},
                                       {"file", options.file},
                                       {"exported", exported.count},
                                       {"models", exported.models},
                                       {"left_out", left_out}});
    return 0;
  }
  print(fmt::format("{}{} written to {}\n", counted(exported.count, "profile"), models_text(exported.models),
                    options.file));
  if (exported.left_out.empty()) return 0;
  print(fmt::format("{} left out:\n", exported.left_out.size()));
  for (const auto& [profile, reason] : exported.left_out) {
    print(fmt::format("  {} {}: {}\n", profile.key.family, problem_and_goal(profile.key), reason));
  }
  return 0;
}

std::string_view text(ImportDecision::Action action) {
  using enum ImportDecision::Action;
  switch (action) {
    case added:
      return "added";
    case replaced:
      return "replaced";
    case kept_local:
      return "kept_local";
    case same:
      return "same";
    case refused:
      return "refused";
  }
  return "";
}

/// For people.
std::string action_text(ImportDecision::Action action) {
  return action == ImportDecision::Action::kept_local ? "kept local" : std::string(text(action));
}

int import_from(const Context& context, const ProfileOptions& options) {
  ProfileStore store = open_profiles(context, options.profiles, ProfileStore::Access::read_write, options.common);
  const auto [decisions, models] = import_profiles(store, options.file);
  std::map<std::string, std::int64_t> counts;
  for (const ImportDecision& decision : decisions) ++counts[std::string(text(decision.action))];
  if (options.common.json) {
    Json records = Json::array();
    ProfileStates states(context.families);
    for (const ImportDecision& decision : decisions) {
      records.push_back({{"action", text(decision.action)},
                         {"reason", decision.reason},
                         {"family", decision.profile.key.family},
                         {"device", to_json(decision.profile.key.device)},
                         {"problem", to_json(decision.profile.key.problem)},
                         {"objective", decision.profile.key.goal.objective},
                         {"cold_cache", decision.profile.key.goal.cold_cache},
                         {"configuration", decision.profile.configuration}});
      states.describe(decision.profile, records.back());
    }
    Json of_models = Json::array();
    for (const ModelDecision& decision : models) {
      of_models.push_back(
          {{"action", text(decision.action)}, {"reason", decision.reason}, {"model", cli::to_json(decision.model)}});
    }
    print_document(
        "profiles import",
        {{"profiles", store.file().string()}, {"file", options.file}, {"records", records}, {"models", of_models}});
    return 0;
  }
  Table table({{"family"}, {"problem"}, {"device"}, {"what"}, {"why"}});
  for (const ImportDecision& decision : decisions) {
    const ProfileKey& key = decision.profile.key;
    table.row({key.family, problem_and_goal(key), key.device.name, action_text(decision.action), decision.reason});
  }
  for (const ModelDecision& decision : models) {
    table.row({decision.model.family, "model of times", decision.model.device.name, action_text(decision.action),
               decision.reason});
  }
  print(table.text());
  print(
      fmt::format("\n{} added, {} replaced, {} refused because the local profile is better, {} already there{}; "
                  "database {}\n",
                  counted(counts["added"], "profile"), counts["replaced"], counts["kept_local"], counts["same"],
                  counts.contains("refused") ? fmt::format(", {} refused for other sizes", counts["refused"]) : "",
                  store.file().string()));
  using enum ImportDecision::Action;
  const auto known = [&](const ImportDecision& decision) {
    return context.families.find(decision.profile.key.family) != nullptr;
  };
  if (const auto unknown = decisions.size() - static_cast<std::size_t>(std::ranges::count_if(decisions, known));
      unknown > 0) {
    print(fmt::format("{} of kernel families that are not built in: kept for programs that define them\n", unknown));
  }
  if (std::ranges::any_of(decisions, [&](const ImportDecision& decision) {
        return known(decision) && (decision.action == added || decision.action == replaced);
      })) {
    print("next: 'heddle profiles verify' measures the imported profiles of this machine's device\n");
  }
  return 0;
}

Json record_of(const Profile& before, const Remeasured& now) {
  return {{"family", before.key.family},
          {"problem", cli::to_json(before.key.problem)},
          {"objective", before.key.goal.objective},
          {"configuration", before.configuration},
          {"status", heddle::text(now.verdict.status)},
          {"message", now.verdict.message},
          {"before", now.before},
          {"now", now.profile ? Json(now.profile->time) : Json()},
          {"removed", now.removed},
          {"restored", now.restored}};
}

int verify_profiles(const Context& context, const ProfileOptions& options) {
  check_sizes(context, options);
  Worker worker({.device = options.device, .families = context.families.descriptions(), .stop = interrupted});
  ProfileStore store =
      open_present_profiles(context, options.profiles, ProfileStore::Access::read_write, options.common);
  std::vector<Profile> waiting = store.profiles(options.family);
  const auto elsewhere = std::ranges::count_if(waiting, [&](const Profile& profile) {
    return context.families.find(profile.key.family) == nullptr && profile.key.device == worker.identity();
  });
  if (elsewhere > 0) {
    note(counted(elsewhere, "profile of a kernel family that is not built in stays as it is",
                 "profiles of kernel families that are not built in stay as they are") +
         ": --kernel and --formula name those that were tuned here, programs that define others measure them");
  }
  ProfileStates states(context.families);
  std::erase_if(waiting, [&](const Profile& profile) {
    const KernelFamily* const family = context.families.find(profile.key.family);
    return family == nullptr || !asks_for(options, profile.key.family) ||
           !family->supports(worker.identity().backend) || profile.key.device != worker.identity() ||
           !matches(context.families, profile.key, options.sizes) ||
           !(options.all || profile.imported || states.is_stale(profile));
  });
  const auto cold = std::erase_if(waiting, [](const Profile& each) { return each.key.goal.cold_cache; });
  if (cold > 0) {
    note(counted(cold, "profile of a cold cache stays as it is: 'heddle tune --l2 cold' measures it again",
                 "profiles of a cold cache stay as they are: 'heddle tune --l2 cold' measures them again"));
  }

  ProgressBar bar(options.common.quiet);
  Json records = Json::array();
  Table table({{"family"}, {"problem"}, {"before", Table::Align::right}, {"now us", Table::Align::right}, {"outcome"}});
  std::size_t done = 0;
  std::mutex findings;  // held while the last three change or are reported
  const auto conclude = [&] {
    const std::scoped_lock lock(findings);
    if (options.common.json) {
      print_document("profiles verify", {{"profiles", store.file().string()},
                                         {"device", worker.label()},
                                         {"waiting", waiting.size()},
                                         {"records", records}});
    } else if (waiting.empty()) {
      if (cold == 0)
        print(fmt::format("no imported or stale profile of {} in {}; --all measures every profile again\n",
                          worker.label(), store.file().string()));
    } else {
      print(table.text());
    }
    if (done == waiting.size()) return 0;
    push_output();
    note(fmt::format("interrupted; {} of {} measured, and the results are kept", done,
                     counted(waiting.size(), "profile")));
    return exit_interrupted;
  };
  catch_interrupts();
  std::optional<LeaveInTime> leave(conclude);
  std::map<std::string, IsolatedEvaluator> evaluators;  // each keeps what it compiled
  for (const Profile& profile : waiting) {
    if (interrupted()) break;
    bar.show(static_cast<double>(done) / static_cast<double>(waiting.size()),
             fmt::format("{} of {}  {}", done + 1, waiting.size(), profile.key.problem.text()));
    const std::uint64_t seed = static_cast<std::uint64_t>(profile.provenance.seed);
    auto& evaluator =
        evaluators.try_emplace(profile.key.family, worker, context.families.at(profile.key.family), seed).first->second;
    Remeasured now;
    try {
      now = remeasure(evaluator, store, profile);
    } catch (const Interrupted&) {
      break;
    }
    std::string outcome(heddle::text(now.verdict.status));
    if (!now.verdict.message.empty()) outcome += ": " + now.verdict.message;
    if (now.removed) outcome += " (removed)";
    if (now.restored) outcome += " (the local profile that it displaced is back)";
    const std::scoped_lock lock(findings);
    records.push_back(record_of(profile, now));
    table.row({profile.key.family, problem_and_goal(profile.key), short_number(now.before),
               now.profile ? short_number(now.profile->time) : "-", outcome});
    ++done;
  }
  leave.reset();
  bar.clear();
  return conclude();
}

int prune(const Context& context, const ProfileOptions& options) {
  ProfileStore store =
      open_present_profiles(context, options.profiles, ProfileStore::Access::read_write, options.common);
  std::map<std::string, PresentKernels> present;
  const auto outdated = [&](const std::string& name, const DeviceIdentity& device, const KernelVersion& version) {
    const KernelFamily* const family = context.families.find(name);
    if (family == nullptr || !family->supports(device.backend)) return false;
    return !comparable(version, present.try_emplace(name, *family).first->second.version(device));
  };
  const ProfileStore::Pruned pruned = store.prune(outdated);
  if (options.common.json) {
    print_document("profiles prune", {{"profiles", store.file().string()},
                                      {"measurements", pruned.measurements},
                                      {"records", pruned.profiles},
                                      {"models", pruned.models}});
  } else {
    print(fmt::format("{}, {} and {} of older kernels removed from {}\n", counted(pruned.measurements, "measurement"),
                      counted(pruned.profiles, "profile"), counted(pruned.models, "model"), store.file().string()));
  }
  return 0;
}

}  // namespace

void add_carry(Command& profiles) {
  auto options = std::make_shared<ProfileOptions>();
  Command exporting = add_subcommand(profiles, "export", "Write profiles to a JSON file", options, export_to);
  exporting.positional("file", "FILE", "Where to write", options->file);
  add_stored_family(exporting, *options);

  options = std::make_shared<ProfileOptions>();
  Command importing =
      add_subcommand(profiles, "import", "Take profiles from a JSON file, where they are better than local ones",
                     options, import_from);
  importing.positional("file", "FILE", "A file that 'heddle profiles export' wrote", options->file);

  options = std::make_shared<ProfileOptions>();
  Command verifying = add_subcommand(profiles, "verify", "Measure imported and stale profiles on this machine", options,
                                     verify_profiles);
  verifying.flag("--all", "Measure every profile of the device", options->all);
  add_families(verifying, *options);
  add_sizes(verifying, options->sizes, true, options->context.families);
  add_device(verifying, options->device);

  options = std::make_shared<ProfileOptions>();
  add_subcommand(profiles, "prune", "Remove measurements and profiles of older kernels", options, prune);
}

}  // namespace heddle::cli
