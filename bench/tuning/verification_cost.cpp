// What the tuner's verification of the untuned default takes, problem by problem and part by part, compilation left
// out.
//
//   verification_cost --device cuda --family sonfin-train --problems 32x16x1,1024x1024x10
//
// Without --problems: the family's default grid. "first": one run on each shape, as for a configuration that becomes
// the bar; "all": what a winner passes beside that; "timed": the check of its timed run. Prints one JSON document,
// times in milliseconds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/tuner_options.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t kSeed = 1;

int run(const std::string& label, const std::string& name, const std::vector<std::string>& texts) {
  const auto device = open_device(label);
  const KernelFamily& of = builtin_families().at(name);
  const std::vector<Problem> problems =
      texts.empty() ? of.default_problems(device->identity()) : bench::problems_of(of, texts);

  const TemplateSource& source = of.source(device->identity().backend);
  std::map<Kernels, std::shared_ptr<const Binary>> binaries;
  double compiling = 0.0;
  const auto binary = [&](const Kernels& kernels) {
    std::shared_ptr<const Binary>& found = binaries[kernels];
    compiling += bench::seconds_of([&] {
      if (!found) found = compile_one(*device, {.source = &source, .kernels = kernels}).binary;
    });
    return found;
  };
  Verifier verifier(*device, of, kSeed, binary);
  DeviceEvaluator evaluator(*device, of, kSeed);

  double all = 0.0;
  std::string records;
  for (const Problem& problem : problems) {
    const Configuration configuration = of.default_configuration(device->identity(), problem);
    const std::int64_t samples = choose_samples(evaluator, configuration, problem);
    std::string parts;
    const auto part = [&](const char* what, const std::function<Verdict()>& verify) {
      Verdict verdict;
      compiling = 0.0;
      const double taken = bench::seconds_of([&] { verdict = verify(); }) - compiling;
      all += taken;
      parts += fmt::format(", \"{}\": {:.1f}", what, 1e3 * taken);
      if (verdict.status != Status::correct) parts += fmt::format(", \"wrong\": \"{}\"", verdict.message);
    };
    part("first", [&] { return verifier.verify(configuration, problem, VerificationExtent::one_run); });
    part("all", [&] { return verifier.verify(configuration, problem); });
    part("timed", [&] { return verifier.verify_timed_run(configuration, problem, samples, configuration); });
    records += fmt::format("{}  {{\"problem\": \"{}\", \"samples\": {}{}}}", records.empty() ? "" : ",\n",
                           problem.text(), samples, parts);
  }
  fmt::print("{{\"device\": \"{}\", \"family\": \"{}\", \"seconds\": {:.2f}, \"problems\": [\n{}\n]}}\n",
             device->identity().text(), name, all, records);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) {
  std::string device, family = "sonfin-train";
  std::vector<std::string> problems;
  CLI::App app("What the tuner's verification of the untuned default takes");
  app.add_option("--device", device, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", family, "kernel family");
  app.add_option("--problems", problems, "sizes in the order of the family's axes: 640x16x1,...; its default grid")
      ->delimiter(',');
  CLI11_PARSE(app, count, values);
  return heddle::bench::exit_code("verification_cost", [&] { return heddle::run(device, family, problems); });
}
