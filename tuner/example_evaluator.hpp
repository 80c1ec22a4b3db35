// The evaluator of a program's own kernel, whose data and whose check are functions of the program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/tune_kernel.hpp"

namespace heddle {

/// Saves the example for a problem before somebody needs it, and lets the program check what another evaluator
/// accepted.
class ExampleEvaluator final : public Evaluator {
 public:
  /// `folder`: where the family of `inner` reads its examples (KernelExamples::folder); `seed`: of the contents, where
  /// there are none. Everything must outlive this.
  ExampleEvaluator(Evaluator& inner, std::string folder, std::uint64_t seed, const MakeExample& example,
                   const CheckRun& check);

  [[nodiscard]] const KernelFamily& family() const override { return inner_.family(); }
  [[nodiscard]] const DeviceIdentity& device() const override { return inner_.device(); }
  [[nodiscard]] Provenance provenance() const override { return inner_.provenance(); }
  [[nodiscard]] bool shares_processor() const override { return inner_.shares_processor(); }
  [[nodiscard]] std::size_t compiler_threads() const override { return inner_.compiler_threads(); }
  [[nodiscard]] std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                                     const Problem& problem) override {
    return inner_.compile(configurations, problem);
  }
  [[nodiscard]] std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem,
                                                std::int64_t samples) override;
  void check_device() override { inner_.check_device(); }
  [[nodiscard]] Verdict verify(const Configuration& configuration, const Problem& problem,
                               VerificationExtent extent) override;
  [[nodiscard]] Verdict verify_timed_run(const Configuration& configuration, const Problem& problem,
                                         std::int64_t samples, const Configuration& untuned) override;
  [[nodiscard]] HostImage outcome(const Configuration& configuration, const Problem& problem,
                                  const BufferNames& names) override;

 private:
  void save(const Problem& problem);
  [[nodiscard]] Verdict checked(const Configuration& configuration, const Problem& problem);

  Evaluator& inner_;
  std::string folder_;
  std::uint64_t seed_;
  const MakeExample& example_;
  const CheckRun& check_;
  std::set<Problem> saved_;
  std::map<std::string, Verdict> verdicts_;  ///< of the program's check, by configuration and problem
};

}  // namespace heddle
