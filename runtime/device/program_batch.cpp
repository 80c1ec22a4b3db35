#include "heddle/runtime/device/program_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace heddle {
namespace {

/// One kernel to be compiled, for all requests that name it.
struct Unit {
  const TemplateSource* source = nullptr;
  std::string expression;
  std::string key;  // in the cache
  struct Place {
    std::size_t request, kernel;
  };
  std::vector<Place> places;
};

using Program = std::vector<const Unit*>;

/// A request under way.
struct Pending {
  std::vector<CompiledKernel> kernels;
  std::size_t missing = 0;
  CompileOutcome outcome;
};

class ProgramBatch final : public CompileBatch {
 public:
  ProgramBatch(ProgramCompiler compiler, std::shared_ptr<CompileCache> cache,
               const std::vector<CompileRequest>& requests)
      : compiler_(std::move(compiler)), cache_(std::move(cache)) {
    collect(requests);
    divide(look_up());
    unfinished_ = programs_.size();
    const std::size_t workers = std::min<std::size_t>(compiler_.threads, programs_.size());
    for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }

  ~ProgramBatch() override {
    {
      const std::lock_guard lock(mutex_);
      dropped_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  std::optional<std::pair<std::size_t, CompileOutcome>> next() override {
    std::unique_lock lock(mutex_);
    if (delivered_ == pending_.size()) return {};
    changed_.wait(lock, [this] { return !done_.empty(); });
    const std::size_t request = done_.front();
    done_.pop_front();
    ++delivered_;
    return std::pair{request, std::move(pending_[request].outcome)};
  }

 private:
  /// One unit per kernel that the requests name, in their order.
  void collect(const std::vector<CompileRequest>& requests) {
    std::map<std::pair<const TemplateSource*, std::string>, std::size_t> known;
    pending_.resize(requests.size());
    for (std::size_t r = 0; r < requests.size(); ++r) {
      const CompileRequest& request = requests[r];
      pending_[r].kernels.resize(request.kernels.size());
      pending_[r].missing = request.kernels.size();
      pending_[r].outcome.cached = true;
      if (request.kernels.empty()) finish(r);
      for (std::size_t k = 0; k < request.kernels.size(); ++k) {
        const auto [place, fresh] = known.try_emplace({request.source, request.kernels[k]}, units_.size());
        if (fresh) units_.push_back({request.source, request.kernels[k], {}, {}});
        units_[place->second].places.push_back({r, k});
      }
    }
  }

  /// Delivers what is built in or in the cache; returns the rest.
  Program look_up() {
    Program missing;
    std::optional<std::string> fingerprint;
    for (Unit& unit : units_) {
      if (compiler_.built_in(*unit.source, unit.expression)) {
        deliver(unit, {nullptr, unit.expression}, 0.0, true);
        continue;
      }
      if (!fingerprint) fingerprint = compiler_.fingerprint();
      unit.key = digest(
          fmt::format("{}\n{}\n{}\n{}", unit.source->main().name, unit.source->hash(), unit.expression, *fingerprint));
      if (auto entry = cache_->find(unit.key)) {
        deliver(unit, {std::move(entry->blob), std::move(entry->metadata)}, 0.0, true);
      } else {
        missing.push_back(&unit);
      }
    }
    return missing;
  }

  /// Programs of one source each. They become smaller towards the end, so that the threads finish together whatever a
  /// kernel costs: each takes its share of half of what is left (guided self-scheduling, Polychronopoulos and Kuck).
  void divide(Program missing) {
    // Reading the headers costs as much as a small kernel; threads that would be idle may as well do that.
    const std::size_t smallest = missing.size() <= compiler_.threads ? 1 : 2;
    std::stable_sort(missing.begin(), missing.end(), [](const Unit* a, const Unit* b) {
      return std::less<const TemplateSource*>{}(a->source, b->source);
    });
    std::size_t size = 0;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (programs_.empty() || programs_.back().size() >= size ||
          programs_.back().front()->source != missing[i]->source) {
        programs_.emplace_back();
        const std::size_t share = (missing.size() - i) / (2 * std::size_t{compiler_.threads});
        size = std::min(std::max(share, smallest), compiler_.program_size);
      }
      programs_.back().push_back(missing[i]);
    }
  }

  void work() {
    while (true) {
      Program program;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return dropped_ || !programs_.empty() || unfinished_ == 0; });
        if (dropped_ || programs_.empty()) return;
        program = std::move(programs_.front());
        programs_.pop_front();
      }
      std::optional<Turnstile::Pass> pass;
      if (compiler_.turnstile) pass.emplace(*compiler_.turnstile);
      if (dropped()) return;
      try {
        compile(program);
      } catch (const std::exception& error) {
        for (const Unit* unit : program) fail(*unit, error.what(), 0.0);
      }
      const std::lock_guard lock(mutex_);
      if (--unfinished_ == 0) changed_.notify_all();
    }
  }

  bool dropped() {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

  void compile(const Program& program) {
    std::vector<std::string> expressions;
    for (const Unit* unit : program) expressions.push_back(unit->expression);
    const auto start = std::chrono::steady_clock::now();
    ProgramResult result = compiler_.compile(*program.front()->source, expressions);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const double share = elapsed.count() / static_cast<double>(program.size());
    if (result.compiled) {
      std::vector<CompileCache::Record> records;
      for (std::size_t i = 0; i < program.size(); ++i) records.push_back({program[i]->key, result.symbols[i]});
      const auto blob = cache_->store(std::move(result.bytes), records).blob;
      for (std::size_t i = 0; i < program.size(); ++i) {
        deliver(*program[i], {blob, std::move(result.symbols[i])}, share, false);
      }
    } else if (program.size() == 1) {
      fail(*program.front(), result.log, share);
    } else {
      bisect(program, share);
    }
  }

  /// One of the program's kernels is bad: both halves are tried again, ahead of everything else.
  void bisect(const Program& program, double share) {
    const auto middle = program.begin() + static_cast<std::ptrdiff_t>(program.size() / 2);
    {
      const std::lock_guard lock(mutex_);
      for (const Unit* unit : program) {
        for (const auto& place : unit->places) pending_[place.request].outcome.seconds += share;
      }
      programs_.emplace_front(middle, program.end());
      programs_.emplace_front(program.begin(), middle);
      unfinished_ += 2;
    }
    changed_.notify_all();
  }

  void deliver(const Unit& unit, const CompiledKernel& kernel, double seconds, bool cached) {
    settle(unit, seconds, cached, [&](Pending& pending, std::size_t at) { pending.kernels[at] = kernel; });
  }

  void fail(const Unit& unit, const std::string& log, double seconds) {
    settle(unit, seconds, false, [&](Pending& pending, std::size_t) {
      pending.outcome.log = log.empty() ? "the compiler failed without a word" : log;
    });
  }

  template <class Note>
  void settle(const Unit& unit, double seconds, bool cached, Note note) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [request, kernel] : unit.places) {
        Pending& pending = pending_[request];
        note(pending, kernel);
        pending.outcome.seconds += seconds;
        pending.outcome.cached = pending.outcome.cached && cached;
        if (--pending.missing == 0) finish(request);
      }
    }
    changed_.notify_all();
  }

  void finish(std::size_t request) {
    Pending& pending = pending_[request];
    if (pending.outcome.log.empty()) pending.outcome.binary = compiler_.binary(std::move(pending.kernels));
    done_.push_back(request);
  }

  const ProgramCompiler compiler_;
  const std::shared_ptr<CompileCache> cache_;
  std::vector<Unit> units_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<Pending> pending_;
  std::deque<Program> programs_;
  std::size_t unfinished_ = 0;  // programs waiting or under way
  std::deque<std::size_t> done_;
  std::size_t delivered_ = 0;
  bool dropped_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace

std::unique_ptr<CompileBatch> start_batch(ProgramCompiler compiler, std::shared_ptr<CompileCache> cache,
                                          const std::vector<CompileRequest>& requests) {
  return std::make_unique<ProgramBatch>(std::move(compiler), std::move(cache), requests);
}

}  // namespace heddle
