// The batches of one search that are being compiled, in the order in which they will be measured.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "heddle/tuner/search/search_context.hpp"

namespace heddle {

/// The context must outlive it.
class CompileQueue {
 public:
  explicit CompileQueue(const SearchContext& context) : context_(context) {}

  /// Configurations in the order of the proposals. Those that the journal knows are not compiled. They come first and
  /// in the order in which they were measured, because what is measured later is compared with them: so a continued run
  /// compares as the run before it did.
  struct Batch {
    std::vector<std::size_t> configurations;
    std::vector<std::size_t> known, compiling;
    std::unique_ptr<Compilation> compilation;
    std::map<std::size_t, Compilation::Done> ready;  ///< by configuration
  };

  /// Starts to compile a batch and returns at once.
  void add(std::vector<std::size_t> configurations);
  /// Takes the batch out that is to be measured next; there has to be one. Where compiling and measuring share the
  /// processor, it is compiled first.
  [[nodiscard]] Batch take(const StopCondition& stop);
  /// The first of `left`, configurations of a batch that was taken out, that is compiled or known; waits until one is.
  /// Nothing if `stop` ends the batch first.
  [[nodiscard]] std::optional<std::size_t> next_ready(Batch& batch, const std::vector<std::size_t>& left,
                                                      const StopCondition& stop);
  /// Waits for one configuration of a batch that was taken out. Nothing if `stop` ends the batch first.
  [[nodiscard]] std::optional<Compilation::Done> wait_for(Batch& batch, std::size_t configuration,
                                                          const StopCondition& stop);
  /// Compiles those of `configurations` that this process has not compiled yet, and waits for them.
  void compile_now(const std::vector<std::size_t>& configurations);
  /// Drops all batches in flight.
  void clear() { batches_.clear(); }
  /// Drops all batches and the limit of limit_waiting().
  void give_up();

  /// From here until give_up_if_late() the compiler is waited for to the end of the budget and beyond, but not for
  /// ever. `start`: when it began, on the clock of the search.
  void limit_waiting(double start);
  /// Whether that limit has passed.
  [[nodiscard]] bool is_late() const;
  /// Ends what limit_waiting() began. Throws Interrupted if the compiler was given up.
  void give_up_if_late();
  /// Seconds after which the compiler was given up; nothing if it was not.
  [[nodiscard]] const std::optional<double>& out_of_time() const noexcept { return out_of_time_; }

  [[nodiscard]] bool empty() const noexcept { return batches_.empty(); }
  /// Number of batches in flight.
  [[nodiscard]] std::size_t size() const noexcept { return batches_.size(); }
  /// Number of configurations in flight.
  [[nodiscard]] std::size_t configurations() const;
  /// Whether the next `batches` are compiled.
  [[nodiscard]] bool is_done(std::size_t batches) const;
  /// Waits until then. Throws Interrupted as soon as `enough` returns true.
  void wait(std::size_t batches, const Stop& enough);
  /// Whether batches in flight have to be dropped. Where compiling and measuring share the processor, a batch in flight
  /// still costs as much as a new one, so it is dropped as soon as the share of time is used up.
  [[nodiscard]] bool must_drop(const StopCondition& stop) const;

 private:
  /// A compilation that the search cannot do without, and how long it may take.
  struct Limit {
    double seconds = 0.0, start = 0.0;
    bool given_up = false;
  };
  [[nodiscard]] std::unique_ptr<Compilation> start(const std::vector<std::size_t>& configurations) const;
  void keep(Batch& batch, Compilation::Done done);
  bool wait_for_one(Batch& batch, const StopCondition& stop);
  void wait_for_all(Batch& batch, const StopCondition& stop);

  const SearchContext& context_;
  std::deque<Batch> batches_;
  std::set<std::size_t> compiled_;  ///< by this process
  std::optional<Limit> limit_;      ///< while the search waits for a compilation whatever the budget
  std::optional<double> out_of_time_;
};

}  // namespace heddle
