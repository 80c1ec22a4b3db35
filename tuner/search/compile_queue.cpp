#include "heddle/tuner/search/compile_queue.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/tuner/search/screener.hpp"

namespace heddle {

void CompileQueue::add(std::vector<std::size_t> configurations) {
  if (configurations.empty()) return;
  Batch batch;
  std::multimap<std::size_t, std::size_t> known;  // by their place in this run
  for (const std::size_t configuration : configurations) {
    if (const auto recollection = context_.journal.recall(configuration)) {
      known.emplace(recollection->place, configuration);
    } else {
      batch.compiling.push_back(configuration);
    }
  }
  for (const auto& [place, configuration] : known) batch.known.push_back(configuration);
  batch.compilation = start(batch.compiling);
  batch.configurations = std::move(configurations);
  batches_.push_back(std::move(batch));
}

std::unique_ptr<Compilation> CompileQueue::start(const std::vector<std::size_t>& configurations) const {
  if (configurations.empty()) return nullptr;
  std::vector<Configuration> list;
  list.reserve(configurations.size());
  for (const std::size_t configuration : configurations) list.push_back(context_.problem.at(configuration));
  return context_.evaluator.compile(list, context_.problem.problem());
}

CompileQueue::Batch CompileQueue::take(const StopCondition& stop) {
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  if (context_.evaluator.shares_processor()) wait_for_all(batch, stop);
  return batch;
}

/// Waits for one more configuration of the batch to be compiled. Returns false if there is none, or if `stop` ends
/// first: a compiler may hang.
bool CompileQueue::wait_for_one(Batch& batch, const StopCondition& stop) {
  if (!batch.compilation) return false;
  const Stopwatch stopwatch(context_.effort.waiting, context_.stop);
  std::optional<Compilation::Done> done;
  try {
    done = batch.compilation->next([&] {
      if (is_late()) limit_->given_up = true;
      return is_late() || stop.must_abandon();
    });
  } catch (const Interrupted&) {
    return false;
  }
  if (!done) return false;
  keep(batch, std::move(*done));
  return true;
}

void CompileQueue::keep(Batch& batch, Compilation::Done done) {
  const std::size_t configuration = batch.compiling[done.index];
  context_.effort.compiling += done.seconds;
  compiled_.insert(configuration);
  batch.ready.emplace(configuration, std::move(done));
}

void CompileQueue::wait_for_all(Batch& batch, const StopCondition& stop) {
  while (!must_drop(stop) && wait_for_one(batch, stop)) {
  }
  // Kernels that the compiler has begun are finished: they go to the cache, where other searches find them.
  if (batch.compilation && must_drop(stop)) batch.compilation->wind_up();
  while (wait_for_one(batch, stop)) {
  }
}

std::optional<std::size_t> CompileQueue::next_ready(Batch& batch, const std::vector<std::size_t>& left,
                                                    const StopCondition& stop) {
  const auto is_left = [&](std::size_t configuration) { return std::ranges::find(left, configuration) != left.end(); };
  if (const auto known = std::ranges::find_if(batch.known, is_left); known != batch.known.end()) return *known;
  while (true) {
    const auto ready =
        std::ranges::find_if(left, [&](std::size_t configuration) { return batch.ready.contains(configuration); });
    if (ready != left.end()) return *ready;
    if (must_drop(stop) || !wait_for_one(batch, stop)) return std::nullopt;
  }
}

std::optional<Compilation::Done> CompileQueue::wait_for(Batch& batch, std::size_t configuration,
                                                        const StopCondition& stop) {
  while (!batch.ready.contains(configuration)) {
    if (must_drop(stop) || !wait_for_one(batch, stop)) return std::nullopt;
  }
  return std::move(batch.ready.extract(configuration).mapped());
}

void CompileQueue::compile_now(const std::vector<std::size_t>& configurations) {
  Batch batch;
  for (const std::size_t configuration : configurations) {
    if (compiled_.insert(configuration).second) batch.compiling.push_back(configuration);
  }
  batch.compilation = start(batch.compiling);
  if (!batch.compilation) return;
  const StopCondition always = context_.stop.without_budget();
  limit_waiting(context_.stop.now());
  while (wait_for_one(batch, always)) {
  }
  give_up_if_late();
}

void CompileQueue::give_up() {
  clear();
  limit_.reset();
}

void CompileQueue::limit_waiting(double start) {
  constexpr double kLeast = 20.0;  // the slowest untuned default takes 14 s on a busy machine
  const auto left = context_.stop.seconds_left_in_total();
  if (left) limit_ = Limit{.seconds = std::max(kLeast, Screener::pilot_limit(*left)), .start = start};
}

bool CompileQueue::is_late() const { return limit_ && context_.stop.now() - limit_->start > limit_->seconds; }

void CompileQueue::give_up_if_late() {
  const auto limit = std::exchange(limit_, std::nullopt);
  if (!limit || !limit->given_up) return;
  out_of_time_ = limit->seconds;
  throw Interrupted();
}

std::size_t CompileQueue::configurations() const {
  std::size_t count = 0;
  for (const Batch& batch : batches_) count += batch.configurations.size();
  return count;
}

bool CompileQueue::is_done(std::size_t batches) const {
  const auto end = batches_.begin() + static_cast<std::ptrdiff_t>(std::min(batches, batches_.size()));
  return std::all_of(batches_.begin(), end,
                     [](const Batch& batch) { return !batch.compilation || batch.compilation->done(); });
}

void CompileQueue::wait(std::size_t batches, const Stop& enough) {
  const Stopwatch stopwatch(context_.effort.waiting, context_.stop);
  for (std::size_t i = 0; i < std::min(batches, batches_.size()); ++i) {
    Compilation* const compilation = batches_[i].compilation.get();
    while (auto done = compilation != nullptr ? compilation->next(enough) : std::nullopt) {
      keep(batches_[i], std::move(*done));
    }
  }
}

bool CompileQueue::must_drop(const StopCondition& stop) const {
  return context_.evaluator.shares_processor() ? stop.reached() : stop.must_abandon();
}

}  // namespace heddle
