// What do some lines of a kernel's template cost? Times configurations as their templates are, and with text of these
// replaced, by turns.
//
//   template_variants --problems 1024x64x1,1024x256x1 --only gpu-fnn --only "gpu-fnn scheme=graph" --variants FILE.json
//
// FILE.json as bench/common/template_variants.hpp says. A variant need not be right: without --verify nobody looks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/template_variants.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/replaced_templates.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;

namespace {

struct Options {
  std::string device, family = "sonfin-train", variants;
  std::vector<std::string> problems, only;
  std::int64_t samples = 0;
  int rounds = 15;
  bool verify = false;
  std::uint64_t seed = 1;
};

/// A configuration's whole text; or the name of one that the family has for the problem, and values that it has instead
/// of its own. Throws Error: no configuration of that name, a parameter that there is not.
Configuration configuration_of(const KernelFamily& family, const DeviceIdentity& device, const Problem& problem,
                               const std::string& text) {
  const auto named = family.named_configurations(device);
  const auto found = std::ranges::find(named, text.substr(0, text.find(' ')), &NamedConfiguration::name);
  if (found == named.end()) return family.space(device).parse(text);
  const auto usual = found->configuration(problem);
  if (!usual) throw Error(ErrorKind::usage, fmt::format("no {} for {}", found->name, problem.text()));
  std::map<std::string, std::string> instead;  // by parameter: "combine_size=1024"
  std::istringstream words(text.substr(found->name.size()));
  for (std::string word; words >> word;) instead[word.substr(0, word.find('='))] = word;
  std::string whole;
  for (const auto& [parameter, value] : usual->entries()) {
    const auto other = instead.extract(parameter);
    whole += (other ? other.mapped() : parameter + "=" + heddle::text(value)) + " ";
  }
  for (const auto& [parameter, word] : instead) whole += word + " ";  // for parse() to complain of
  whole.pop_back();
  return family.space(device).parse(whole);
}

/// False if one could not be timed, or is not right where that was asked.
bool compare(std::deque<DeviceEvaluator>& evaluators, const std::vector<std::string>& names, const Problem& problem,
             const Configuration& configuration, const Options& options) {
  std::vector<bench::Contestant> contestants;
  contestants.reserve(evaluators.size());
  for (DeviceEvaluator& evaluator : evaluators) contestants.push_back({&evaluator, configuration});
  bench::compile(contestants, problem);
  const std::int64_t samples =
      options.samples > 0 ? options.samples : choose_samples(evaluators.front(), configuration, problem);
  const auto times = bench::interleave(contestants, problem, samples, options.rounds);
  fmt::print("{}: {}, {} samples\n", problem.text(), configuration.text(), samples);
  bool sound = true;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].empty()) {
      fmt::print("    failed  {}\n", names[i]);
      sound = false;
      continue;
    }
    const std::string ratio = times.front().empty() ? "" : fmt::format("{:.3f}", median(times[i]) / median(times[0]));
    std::string verdict;
    if (options.verify) {
      const Verdict found = evaluators[i].verify(configuration, problem, VerificationExtent::all);
      sound = sound && found.status == Status::correct;
      verdict = found.status == Status::correct ? fmt::format("  error {:.1e}", found.worst_error)
                                                : fmt::format("  WRONG: {}", found.message);
    }
    fmt::print("  {:>8}  {}  {}{}\n",
               fmt::format("{:#.4g} +- {:.1g}", median(times[i]), half_interquartile_range(times[i])), ratio, names[i],
               verdict);
  }
  std::fflush(stdout);
  return sound;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times configurations with other lines in their templates, by turns");
  app.add_option("--device", options.device, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", options.family, "kernel family");
  app.add_option("--problems", options.problems, "sizes in the order of the family's axes: 640x16x1,...")
      ->delimiter(',')
      ->required();
  app.add_option("--only", options.only, "a configuration's text, or \"gpu-fnn combine_size=1024\"; several")
      ->expected(1)
      ->take_all()
      ->required();
  app.add_option("--variants", options.variants, "JSON file: what is replaced by what")->required();
  app.add_option("--samples", options.samples, "samples of one run; 0: so many that it takes long enough");
  app.add_option("--rounds", options.rounds, "runs of each, of which the median is told");
  app.add_flag("--verify", options.verify, "compare with the reference");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("template_variants", [&] {
    const std::vector<bench::TemplateVariant> variants = bench::read_template_variants(options.variants);
    const auto device = open_device(options.device);
    const KernelFamily& family = builtin_families().at(options.family);
    std::deque<ReplacedTemplates> families;
    std::deque<DeviceEvaluator> evaluators;
    std::vector<std::string> names{"as it is"};
    evaluators.emplace_back(*device, family, options.seed);
    for (const bench::TemplateVariant& variant : variants) {
      try {
        families.emplace_back(family, device->identity().backend, variant.replacements);
      } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}: {}: {}", options.variants, variant.name, error.what()));
      }
      evaluators.emplace_back(*device, families.back(), options.seed);
      names.push_back(variant.name);
    }
    std::vector<std::pair<Problem, Configuration>> all;  // each is known before the first is timed
    for (const Problem& problem : bench::problems_of(family, options.problems)) {
      for (const std::string& text : options.only) {
        all.emplace_back(problem, configuration_of(family, device->identity(), problem, text));
      }
    }
    bool sound = true;
    for (const auto& [problem, configuration] : all) {
      sound = compare(evaluators, names, problem, configuration, options) && sound;
    }
    return sound ? 0 : 1;
  });
}
