// heddle tune: searches for the fastest mappings on one device or several, and keeps them.

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "heddle/cli/command.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/tune_run.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/tuner/objective.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle::cli {
namespace {

double read_rate(const std::string& option, const std::string& text, double most) {
  const double value = read_real(option, text);
  if (value > 0.0 && value <= most) return value;
  throw Error(ErrorKind::usage, fmt::format("option {}: found {}, expected a number above 0 and up to {}", option,
                                            in_quotes(text), most));
}

}  // namespace

void add_tune(Command& program) {
  Command command = program.add("tune", "Find the fastest mappings on a device and keep them");
  const auto options = std::make_shared<TuneOptions>();
  command.option(
      "--device", "D",
      "What to tune, as 'heddle devices' lists it; several as cuda:0,cuda:1, or 'all' cards; those of one model "
      "share out the problems [default: the best one]",
      options->device);
  options->context = program.context();
  FamilyRegistry& families = options->context.families;
  std::string usual;
  for (const auto& family : families.all()) {
    if (family->tuned_unasked()) usual += fmt::format("{}{}", usual.empty() ? "" : ", ", family->name());
  }
  command.list(
      "--family", "F", fmt::format("Kernel families to tune: {} [default: {}]", families.names(), usual),
      [options, &families](const std::string& name) { options->families.emplace_back(families.at(name).name()); });
  add_described_families(command, options->described, families);
  command.repeated(
      "--capture", "FILE",
      "Tune a kernel for a call that a program captured in this file, in place of the families; may be "
      "given several times",
      [options](const std::string& file) { options->captures.add(file, options->described.allow_outside); });
  add_sizes(command, options->sizes, true, families);
  std::string names;
  for (const StrategyEntry& each : strategies()) names += fmt::format("\n  {}: {}", each.name, each.meaning);
  command.option("--strategy", "S", fmt::format("How to search [default: {}]{}", options->tuner.strategy, names),
                 [options](const std::string& name) { options->tuner.strategy = strategy(name).name; });
  command.option("--budget", "TIME", "Time to spend, as 30s, 5m or 1h [default: 10m, or none with --evaluations]",
                 [options](const std::string& text) { options->budget.seconds = read_duration("--budget", text); });
  command.option(
      "--evaluations", "N", "Largest number of configurations to try, for all problems together",
      [options](const std::string& text) { options->budget.evaluations = read_integer("--evaluations", text, 1); });
  command.option("--patience", "N", "End the search for a problem after N configurations in a row without a gain",
                 [options](const std::string& text) { options->tuner.patience = read_integer("--patience", text, 1); });
  command.option(
      "--compile-limit", "TIME",
      fmt::format("Give up a configuration that takes longer to compile [default: {:g}s]", Compiling::kMostSeconds),
      [options](const std::string& text) {
        options->compile_seconds = read_duration("--compile-limit", text);
        if (options->compile_seconds > Compiling::kMostSeconds) {
          throw Error(ErrorKind::usage, fmt::format("option --compile-limit: found {}, expected at most {:g}s",
                                                    in_quotes(text), Compiling::kMostSeconds));
        }
      });
  command.option("--objective", "O",
                 "What to make small: time, energy, or an expression over both, sizes, parameters, the metrics of a "
                 "description, bytes, operations, registers, shared_bytes, local_bytes and occupancy [default: time]",
                 [options](const std::string& text) {
                   const bool time = Goal::of(text).is_time();
                   options->tuner.objective = time ? nullptr : std::make_shared<const Objective>(text);
                 });
  command.option("--l2", "STATE",
                 "Time kernels of your own with a warm cache, launch after launch, or a cold one, which is emptied "
                 "before each launch: cold or warm [default: warm]",
                 [options](const std::string& text) { options->tuner.cold_cache = read_cold_cache(text); });
  command.flag("--energy", "Measure the energy of the finalists, too: a second or two each", options->tuner.energy);
  command.option("--target", "F",
                 "End the search for a problem at this fraction of the speed that the peak rates allow; needs "
                 "--peak-bandwidth or --peak-rate",
                 [options](const std::string& text) { options->tuner.target = read_rate("--target", text, 1.0); });
  command.option("--peak-bandwidth", "GB/s", "Peak memory bandwidth of the device", [options](const std::string& text) {
    options->tuner.peak_bytes_per_second = 1e9 * read_rate("--peak-bandwidth", text, 1e9);
  });
  command.option("--peak-rate", "GFLOP/s", "Peak arithmetic rate of the device", [options](const std::string& text) {
    options->tuner.peak_operations_per_second = 1e9 * read_rate("--peak-rate", text, 1e9);
  });
  command.option("--seed", "N",
                 fmt::format("Seed of the search and of the workload [default: {}]", options->tuner.seed),
                 [options](const std::string& text) {
                   options->tuner.seed = static_cast<std::uint64_t>(read_integer("--seed", text, 0));
                 });
  command.option("--replay", "FILE", "Search a recorded space (T4 or T1) in virtual time in place of a device",
                 options->replay);
  command.option("--record", "FILE",
                 "Write the measurements of the one problem as a T4 file; stops no configuration early",
                 [options](const std::string& file) {
                   options->record = file;
                   options->tuner.prune_factor = std::numeric_limits<double>::infinity();
                 });
  add_profile_file(command, options->profiles);
  add_common(command, options->common);
  command.action([options] {
    options->kernels = options->described.names;
    for (std::string& name : options->captures.add_to(options->context.families)) {
      options->kernels.push_back(std::move(name));
    }
    return tune(*options);
  });
}

}  // namespace heddle::cli
