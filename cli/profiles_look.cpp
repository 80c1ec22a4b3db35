// heddle profiles list | show | explain

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "heddle/cli/json.hpp"
#include "heddle/cli/outcomes.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/cli/profiles.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/objective.hpp"

namespace heddle::cli {
namespace {

std::string device_text(const DeviceIdentity& device) {
  return fmt::format("{} ({} {}, {} units)", device.name, device.backend, device.architecture, device.units);
}

std::vector<Profile> matching(const ProfileStore& store, const ProfileOptions& options) {
  check_stored_family(store, options.family);
  std::vector<Profile> profiles = store.profiles(options.family);
  std::erase_if(profiles, [&](const Profile& profile) {
    return !asks_for(options, profile.key.family) || !matches(options.context.families, profile.key, options.sizes);
  });
  return profiles;
}

int list(const Context& context, const ProfileOptions& options) {
  check_sizes(context, options);
  const ProfileStore store =
      open_present_profiles(context, options.profiles, ProfileStore::Access::read, options.common);
  const std::vector<Profile> profiles = matching(store, options);
  ProfileStates states(context.families);
  if (options.common.json) {
    Json array = Json::array();
    for (const Profile& profile : profiles) {
      array.push_back(to_json(profile));
      array.back()["unit"] = unit_of(context.families, profile.key.family);
      states.describe(profile, array.back());
    }
    print_document("profiles list", {{"profiles", store.file().string()}, {"records", array}});
    return 0;
  }
  if (profiles.empty()) {
    print(fmt::format("no profiles in {}; 'heddle tune' makes them\n", store.file().string()));
    return 0;
  }
  const DeviceIdentity* shown = nullptr;
  std::optional<Table> table;
  const auto flush = [&] {
    if (table) print(table->text() + "\n");
  };
  for (const Profile& profile : profiles) {
    if (shown == nullptr || *shown != profile.key.device) {
      flush();
      shown = &profile.key.device;
      print(device_text(*shown) + "\n");
      table.emplace(std::vector<Table::Column>{
          {"family"}, {"problem"}, {"us", Table::Align::right}, {"state"}, {"date"}, {"configuration"}});
    }
    table->row({profile.key.family, problem_and_goal(profile.key), short_number(profile.time),
                states.state_and_cause(profile), profile.provenance.date.substr(0, 10), profile.configuration});
  }
  flush();
  print(fmt::format("{} in {}\n", counted(profiles.size(), "profile"), store.file().string()));
  return 0;
}

/// All that the store knows about one key.
struct Known {
  std::vector<Profile> profiles;  ///< one for each goal
  Outcomes statuses;
  std::vector<Measurement> failures;  ///< newest first
};

std::map<ProfileKey, Known> known(const ProfileStore& store, const ProfileOptions& options) {
  std::map<ProfileKey, Known> all;
  for (Profile& profile : matching(store, options)) {
    ProfileKey key = profile.key;
    key.goal = {};  // a measurement serves every goal
    all[key].profiles.push_back(std::move(profile));
  }
  for (Measurement& measurement : store.measurements()) {
    const ProfileKey& key = measurement.key;
    if (!asks_for(options, key.family) || !matches(options.context.families, key, options.sizes)) continue;
    Known& about = all[key];
    ++about.statuses[measurement.status];
    if (failed(measurement.status)) about.failures.push_back(std::move(measurement));
  }
  return all;
}

const Profile* usual(const Known& about) {
  const auto found = std::ranges::find_if(about.profiles, [](const Profile& each) { return each.key.goal.is_usual(); });
  return found == about.profiles.end() ? nullptr : &*found;
}

Json others_of(const Known& about, ProfileStates& states) {
  Json others = Json::array();
  for (const Profile& profile : about.profiles) {
    if (profile.key.goal.is_usual()) continue;
    others.push_back(to_json(profile));
    states.describe(profile, others.back());
  }
  return others;
}

void print_profile(const Context& context, const Profile& profile, ProfileStates& states) {
  if (const Goal& goal = profile.key.goal; !goal.is_usual()) {
    print(fmt::format("  objective      {}{}; used only where it is asked for\n", goal.text(),
                      profile.value ? fmt::format(": {}", short_number(*profile.value)) : ""));
  }
  print(fmt::format("  configuration  {}\n", profile.configuration));
  print(fmt::format("  time           {0} us per {3}, spread {1}, over {2} {3}s\n", short_number(profile.time),
                    short_number(profile.spread), profile.samples, unit_of(context.families, profile.key.family)));
  for (const std::string& tie : profile.ties) print(fmt::format("  as fast        {}\n", tie));
  const KernelFamily* const family = context.families.find(profile.key.family);
  print(fmt::format("  worst error    {:.2g}{}{}\n", profile.worst_error, family != nullptr ? " relative to " : "",
                    family != nullptr ? family->verified_against() : ""));
  const std::string_view since = change(states.currency(profile).value_or(Currency::current));
  print(fmt::format("  state          {}{}{}\n", states.state(profile), since.empty() ? "" : ": ", since));
  const Provenance& from = profile.provenance;
  std::string origin;
  for (const std::string& part : {from.date, from.tool, from.compiler, from.driver, from.host, from.clocks}) {
    if (!part.empty()) origin += (origin.empty() ? "" : ", ") + part;
  }
  print(fmt::format("  measured       {}; {} search, seed {}\n", origin, from.strategy, from.seed));
}

int show(const Context& context, const ProfileOptions& options) {
  check_sizes(context, options);
  const ProfileStore store =
      open_present_profiles(context, options.profiles, ProfileStore::Access::read, options.common);
  const auto all = known(store, options);
  ProfileStates states(context.families);
  if (options.common.json) {
    Json records = Json::array();
    for (const auto& [key, about] : all) {
      Json statuses = Json::object(), failures = Json::array();
      const Profile* const profile = usual(about);
      for (const auto& [status, count] : about.statuses) statuses[std::string(text(status))] = count;
      for (const Measurement& failure : about.failures) {
        failures.push_back(
            {{"configuration", failure.configuration}, {"status", text(failure.status)}, {"message", failure.message}});
      }
      records.push_back({{"family", key.family},
                         {"unit", unit_of(context.families, key.family)},
                         {"device", to_json(key.device)},
                         {"problem", to_json(key.problem)},
                         {"profile", profile != nullptr ? to_json(*profile) : Json()},
                         {"other_profiles", others_of(about, states)},
                         {"state", Json()},
                         {"stale", Json()},
                         {"measurements", statuses},
                         {"failures", failures}});
      if (profile != nullptr) states.describe(*profile, records.back());
    }
    print_document("profiles show", {{"profiles", store.file().string()}, {"records", records}});
    return 0;
  }
  if (all.empty()) print(fmt::format("no profile and no measurement of such a problem in {}\n", store.file().string()));
  constexpr std::size_t most_failures = 3;
  for (const auto& [key, about] : all) {
    print(fmt::format("{} {} on {}\n", key.family, key.problem.text(), device_text(key.device)));
    for (const Profile& profile : about.profiles) print_profile(context, profile, states);
    print(fmt::format("  measurements   {}\n", outcomes_text(about.statuses)));
    for (std::size_t i = 0; i < std::min(about.failures.size(), most_failures); ++i) {
      const Measurement& failure = about.failures[i];
      print(fmt::format("  failed         {}: {}: {}\n", failure.configuration, text(failure.status), failure.message));
    }
    print("\n");
  }
  return 0;
}

Json record_of(const Candidate& candidate) {
  return {{"configuration", candidate.configuration.text()},
          {"tier", text(candidate.tier)},
          {"distance", candidate.squared_distance},
          {"expected_microseconds_per_sample", candidate.expected ? Json(*candidate.expected) : Json()},
          {"reason", candidate.reason},
          {"stale", candidate.tier == Tier::stale ? Json(text(candidate.currency)) : Json()},
          {"profile", candidate.profile != nullptr ? cli::to_json(*candidate.profile) : Json()}};
}

/// Says how many profiles of the device have another goal, so that nobody wonders where they are.
void print_others(const ProfileStore& store, const KernelFamily& family, const DeviceIdentity& device,
                  const Goal& goal) {
  std::map<std::string, std::size_t> counts;
  for (const Profile& profile : store.profiles(std::string(family.name()))) {
    if (profile.key.goal != goal && profile.key.device == device) ++counts[profile.key.goal.text()];
  }
  for (const auto& [other, count] : counts) {
    print(fmt::format("left out: {} found for another objective: {}\n", counted(count, "profile"), other));
  }
}

/// The family of this name. Throws Error(usage) for one that nothing here makes, though it may have profiles.
const KernelFamily& explained_family(const FamilyRegistry& families, const ProfileStore& store,
                                     const std::string& name) {
  if (const KernelFamily* const family = families.find(name)) return *family;
  const bool tuned = !store.profiles(name).empty();
  throw Error(ErrorKind::usage,
              fmt::format("option --family: {} is not built in, expected {}what it is made from, with --formula or "
                          "--kernel{}",
                          in_quotes(name), tuned ? "" : fmt::format("one of {}, or ", families.names()),
                          tuned ? "; 'heddle profiles show' shows its profiles without that" : ""));
}

/// The families that are named or described; without any, all of the backend that have the sizes.
std::vector<const KernelFamily*> explained_families(const ProfileOptions& options, const ProfileStore& store,
                                                    const std::string& backend) {
  const FamilyRegistry& families = options.context.families;
  const auto names = options.family.empty() ? options.described.names : std::vector{options.family};
  std::vector<const KernelFamily*> asked;
  for (const std::string& name : names) {
    asked.push_back(&explained_family(families, store, name));
    if (asked.back()->supports(backend)) continue;
    throw Error(ErrorKind::usage, fmt::format("{}{} has no templates for the backend {}",
                                              options.family.empty() ? "" : "option --family: ", name, backend));
  }
  if (names.empty()) {
    for (const auto& each : families.all()) {
      if (each->supports(backend)) asked.push_back(each.get());
    }
  }
  options.sizes.check_names(asked);
  return names.empty() ? options.sizes.meant(std::move(asked)) : asked;
}

int explain(const Context& context, const ProfileOptions& options) {
  const auto device = open_device(options.device);
  const ProfileStore store =
      open_present_profiles(context, options.profiles, ProfileStore::Access::read, options.common);
  const std::vector<const KernelFamily*> asked = explained_families(options, store, device->identity().backend);
  if (!options.goal.is_time()) {
    const Objective objective(options.goal.objective);
    for (const KernelFamily* each : asked) objective.check(*each, device->identity());
  }
  std::vector<Problem> problems;
  problems.reserve(asked.size());
  for (const KernelFamily* each : asked) problems.push_back(one_problem(*each, device->identity(), options.sizes));
  Json explanations = Json::array();
  bool first = true;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Dispatcher dispatcher(device->identity(), *asked[i], store.knowledge({}, options.goal));
    const auto explanation = dispatcher.explain(problems[i]);
    if (!options.common.json) {
      print((first ? "" : "\n") + explanation.text() + "\n");
      print_others(store, *asked[i], device->identity(), options.goal);
      first = false;
      continue;
    }
    Json candidates = Json::array(), rejections = Json::array();
    for (const Candidate& candidate : explanation.candidates) candidates.push_back(record_of(candidate));
    for (const auto& rejection : explanation.rejections) {
      rejections.push_back({{"profile", cli::to_json(*rejection.profile)}, {"reason", rejection.reason}});
    }
    Json model, rejected_models = Json::array();
    if (explanation.model != nullptr) {
      model = cli::to_json(explanation.model->fitted());
      model["source"] = text(explanation.model->source());
    }
    for (const auto& [fitted, reason] : explanation.rejected_models) {
      rejected_models.push_back({{"model", cli::to_json(fitted)}, {"reason", reason}});
    }
    explanations.push_back({{"family", explanation.family},
                            {"unit", asked[i]->unit()},
                            {"device", cli::to_json(explanation.device)},
                            {"problem", cli::to_json(explanation.problem)},
                            {"candidates", candidates},
                            {"rejections", rejections},
                            {"model", model},
                            {"rejected_models", rejected_models}});
  }
  if (options.common.json) {
    print_document("profiles explain", {{"profiles", store.file().string()}, {"explanations", explanations}});
  }
  return 0;
}

}  // namespace

void add_look(Command& profiles) {
  for (const auto& [name, meaning, run] :
       {std::tuple{"list", "The profiles there are, a line each", &list},
        std::tuple{"show", "All that is known about problems, failures too", &show}}) {
    const auto options = std::make_shared<ProfileOptions>();
    Command command = add_subcommand(profiles, name, meaning, options, run);
    add_stored_family(command, *options);
    add_described_families(command, options->described, options->context.families);
    add_sizes(command, options->sizes, true, options->context.families);
  }
  const auto options = std::make_shared<ProfileOptions>();
  Command command =
      add_subcommand(profiles, "explain", "Say which configuration would run for a problem, and why", options, explain);
  command.option("--family", "F", "Only this kernel family", options->family);
  add_described_families(command, options->described, options->context.families);
  add_sizes(command, options->sizes, false, options->context.families);
  add_goal(command, options->goal);
  add_device(command, options->device);
}

}  // namespace heddle::cli
