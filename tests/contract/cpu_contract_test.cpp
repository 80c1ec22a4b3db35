#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "carving_family.hpp"
#include "contract/device_contract.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/replaced_templates.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/tuner/verifier.hpp"
#include "runtime/device/environment_variable.hpp"
#include "runtime/device/many_cores.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

TEST_CASE("the CPU device keeps the contract of devices") {
  const auto device = open_cpu_device();
  run_device_contract(*device, {.drawn = 8, .least = 300});  // 504 on two cores
}

TEST_CASE("the contract finds a wrong path of a scheme of which it tries one configuration") {
  const auto device = open_cpu_device();
  const KernelFamily& sound = sonfin::train_family();
  const auto complaints = [&](const KernelFamily& family) {
    const std::shared_ptr<const KernelFamily> unowned(std::shared_ptr<void>(), &family);
    ContractSample sample{.large = false, .repeat = false, .most = 1, .families = {unowned}};
    // Where there is one rule, nothing moves: which case is drawn depends on the vectors of this processor.
    while (contract_cases(device->identity(), sample).front().problem.at("rules") == 1) ++sample.seed;
    const ContractResult result = try_configurations(*device, sample);
    CHECK(result.tried.at("sonfin-train") == 1);
    return result.complaints;
  };
  CHECK(complaints(sound).empty());
  for (const bool always_plain : {true, false}) {
    const std::string run = always_plain ? "scaled step" : "plain step";
    CAPTURE(run);
    const ReplacedTemplates planted(sound, "cpu",
                                    {{"cpu/train_bank.hpp", "control_.plain_step != 0 ? kPlain",
                                      always_plain ? "true ? kPlain" : "false ? kPlain"}});
    const auto found = complaints(planted);
    REQUIRE(found.size() == 1);
    CHECK_MESSAGE(found.front().find(run) != std::string::npos, found.front());
  }
}

/// The family of the tests without its compile options: products and sums may be fused.
class FusedFamily final : public test::CarvingFamily {
 public:
  const TemplateSource& source(std::string_view backend) const override {
    static const TemplateSource source(CarvingFamily::source(backend).files());
    return source;
  }
};

TEST_CASE("the compile options of a family reach its kernels: fused operations round otherwise, and are found") {
  const auto device = open_cpu_device();
  const std::string& level = device->identity().architecture;
  const bool fuses = level == "x86-64-v3" || level == "x86-64-v4";
  const auto problem = test::carving(1000, 11, 2, 8);
  const auto verdict = [&](const KernelFamily& family) {
    return Verifier(*device, family, 3).verify(test::CarvingFamily::configuration(3, 5), problem);
  };
  CHECK(verdict(test::CarvingFamily()).status == Status::correct);
  const Verdict fused = verdict(FusedFamily());
  CHECK(fused.status == (fuses ? Status::wrong_result : Status::correct));
  CHECK((fused.message.find("rounded after every operation") != std::string::npos) == fuses);
}

TEST_CASE("with thousands of inputs an online step on a CPU is as right as with few") {
  const auto device = open_cpu_device();
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(device->identity());
  const Problem problem = sonfin::problem(9, 20001, 1);
  Verifier verifier(*device, family, 5);
  const Configuration untuned = family.default_configuration(device->identity(), problem);
  const std::string rest = untuned.text().substr(untuned.text().find(' '));
  for (const std::string coarsening : {"coarsening=rules", "coarsening=dims"}) {
    const Configuration configuration = space.parse(coarsening + rest);
    CAPTURE(configuration.text());
    const Verdict verdict = verifier.verify(configuration, problem);
    CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
  }
}

TEST_CASE("without a compiler, and with more threads than cores, default configurations compute what is right") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const Variable compiler("CXX", "no-such-compiler");
  const auto real = open_cpu_device();
  test::ManyCores device(5);
  for (const auto& family : builtin_families().all()) {
    if (!family->supports("cpu")) continue;
    Verifier verifier(device, *family, 5);
    const SearchSpace space = family->space(device.identity());
    std::vector<Problem> problems{family->awkward_problem()};
    const Axis& first = family->axes().front();
    // Fewer of the first size than a vector has floats, and more than all threads have at once.
    for (const std::int64_t size : {1, 3, 33, 130}) problems.push_back(problems.front().with(first.name, size));
    for (const Problem& problem : problems) {
      const Configuration standard = family->default_configuration(real->identity(), problem);
      for (const Configuration& configuration : space.enumerate(problem)) {
        if (!test::same_but_for_threads(configuration, standard)) continue;
        INFO(problem.text() << ": " << configuration.text());
        const Verdict verdict = verifier.verify(configuration, problem);
        CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
      }
    }
  }
  CHECK(device.compiler_calls() == 0);
}

}  // namespace
}  // namespace heddle
