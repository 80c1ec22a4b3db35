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
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace heddle {
namespace {

constexpr std::chrono::milliseconds kTick{20};  // between two questions to a Stop

/// One kernel to be compiled, for all requests that name it.
struct Unit {
  const TemplateSource* source = nullptr;
  KernelInstance kernel;
  std::vector<std::string> words;  // for the compiler
  std::string key;                 // in the cache
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
    std::vector<Unit*> rest = deliver_built_in();
    if (rest.empty()) return;
    unfinished_ = 1;
    first_worker_ = std::thread([this, units = std::move(rest)] {
      begin(units);
      work();
    });
  }

  ~ProgramBatch() override {
    stop_.request_stop();
    wind_up();
    if (first_worker_.joinable()) first_worker_.join();
    for (std::thread& worker : workers_) worker.join();
  }

  using CompileBatch::next;
  std::optional<std::pair<std::size_t, CompileOutcome>> next(const Stop& stop) override {
    std::unique_lock lock(mutex_);
    const auto settled = [this] { return !done_.empty() || unfinished_ == 0; };
    while (!settled()) {
      if (!stop) {
        changed_.wait(lock, settled);
      } else if (!changed_.wait_for(lock, kTick, settled)) {
        lock.unlock();
        if (stop()) throw Interrupted();
        lock.lock();
      }
    }
    if (done_.empty()) return {};
    const std::size_t request = done_.front();
    done_.pop_front();
    return std::pair{request, std::move(pending_[request].outcome)};
  }

  bool done() override {
    const std::lock_guard lock(mutex_);
    return unfinished_ == 0;
  }

  void wind_up() override {
    {
      const std::lock_guard lock(mutex_);
      winding_up_ = true;
      unfinished_ -= programs_.size();
      programs_.clear();
    }
    changed_.notify_all();
  }

 private:
  /// One unit per kernel that the requests name, in their order.
  void collect(const std::vector<CompileRequest>& requests) {
    std::map<std::pair<const TemplateSource*, KernelInstance>, std::size_t> known;
    pending_.resize(requests.size());
    for (std::size_t r = 0; r < requests.size(); ++r) {
      const CompileRequest& request = requests[r];
      pending_[r].kernels.resize(request.kernels.size());
      pending_[r].missing = request.kernels.size();
      pending_[r].outcome.cached = true;
      if (request.kernels.empty()) finish(r);
      for (std::size_t k = 0; k < request.kernels.size(); ++k) {
        const auto [place, fresh] = known.try_emplace({request.source, request.kernels[k]}, units_.size());
        if (fresh) {
          units_.push_back({request.source, request.kernels[k], words_of(*request.source, request.kernels[k]), {}, {}});
        }
        units_[place->second].places.push_back({r, k});
      }
    }
  }

  [[nodiscard]] std::vector<std::string> words_of(const TemplateSource& source, const KernelInstance& kernel) const {
    std::vector<std::string> words = compiler_.words(source.options());
    words.reserve(words.size() + kernel.definitions.size());
    for (const auto& [name, value] : kernel.definitions) words.push_back(fmt::format("-D{}={}", name, value));
    return words;
  }

  /// Returns the rest.
  std::vector<Unit*> deliver_built_in() {
    std::vector<Unit*> rest;
    for (Unit& unit : units_) {
      if (compiler_.built_in(*unit.source, unit.kernel)) {
        deliver(unit, {nullptr, unit.kernel.name}, 0.0, true);
      } else {
        rest.push_back(&unit);
      }
    }
    return rest;
  }

  /// Delivers what is in the cache; returns the rest.
  Program look_up(const std::vector<Unit*>& units, const std::string& fingerprint) {
    Program missing;
    for (Unit* const unit : units) {
      unit->key = digest(fmt::format("{}\n{}\n{}\n{}\n{}", unit->source->main().name, unit->source->hash(),
                                     fmt::join(unit->words, "\n"), unit->kernel.name, fingerprint));
      if (auto entry = cache_->find(unit->key)) {
        deliver(*unit, {std::move(entry->blob), std::move(entry->metadata)}, 0.0, true);
      } else {
        missing.push_back(unit);
      }
    }
    return missing;
  }

  /// Makes programs of what is not in the cache, and starts as many threads for them as there is work for. Not where
  /// the batch is made: to know what is in the cache, the compiler has to be asked for its version.
  void begin(const std::vector<Unit*>& units) {
    std::deque<Program> programs;
    std::optional<std::string> fingerprint;
    try {
      fingerprint = compiler_.fingerprint(stop_.get_token());
    } catch (const std::exception& error) {  // it does not even say its version
      for (const Unit* const unit : units) fail(*unit, fmt::format("{}: {}", kCompilerFailed, error.what()), 0.0);
    }
    if (fingerprint) programs = divide(look_up(units, *fingerprint));
    const std::size_t threads = std::min<std::size_t>(compiler_.threads, programs.size());
    {
      const std::lock_guard lock(mutex_);
      if (!winding_up_) {
        unfinished_ += programs.size();
        programs_ = std::move(programs);
      }
      --unfinished_;
    }
    changed_.notify_all();
    try {
      for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no more threads: then it takes longer
    }
  }

  /// Programs of one source and the same words each. They become smaller towards the end, so that the threads finish
  /// together whatever a kernel costs: each takes its share of half of what is left (guided self-scheduling,
  /// Polychronopoulos and Kuck).
  [[nodiscard]] std::deque<Program> divide(Program missing) const {
    std::deque<Program> programs;
    // Reading the headers costs as much as a small kernel; threads that would be idle may as well do that.
    const std::size_t smallest = missing.size() <= compiler_.threads ? 1 : 2;
    const auto together = [](const Unit* a, const Unit* b) { return a->source == b->source && a->words == b->words; };
    std::stable_sort(missing.begin(), missing.end(), [](const Unit* a, const Unit* b) {
      if (a->source == b->source) return a->words < b->words;
      return std::less<const TemplateSource*>{}(a->source, b->source);
    });
    std::size_t size = 0;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (programs.empty() || programs.back().size() >= size || !together(programs.back().front(), missing[i])) {
        programs.emplace_back();
        const std::size_t share = (missing.size() - i) / (2 * std::size_t{compiler_.threads});
        size = std::min(std::max(share, smallest), compiler_.program_size);
      }
      programs.back().push_back(missing[i]);
    }
    return programs;
  }

  void work() {
    while (true) {
      Program program;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !programs_.empty() || unfinished_ == 0; });
        if (programs_.empty()) return;
        program = std::move(programs_.front());
        programs_.pop_front();
      }
      std::optional<Turnstile::Pass> pass;
      if (compiler_.turnstile) pass.emplace(*compiler_.turnstile);
      try {
        if (!winding_up()) compile(program);
      } catch (const std::exception& error) {
        for (const Unit* unit : program) fail(*unit, fmt::format("{}: {}", kCompilerFailed, error.what()), 0.0);
      }
      const std::lock_guard lock(mutex_);
      if (--unfinished_ == 0) changed_.notify_all();
    }
  }

  bool winding_up() {
    const std::lock_guard lock(mutex_);
    return winding_up_;
  }

  void compile(const Program& program) {
    ProgramInput input{
        .source = program.front()->source,
        .words = program.front()->words,
        .expressions = {},
        .seconds = std::min(compiler_.seconds * static_cast<double>(program.size()), Compiling::kMostSeconds)};
    input.expressions.reserve(program.size());
    for (const Unit* unit : program) input.expressions.push_back(unit->kernel.name);
    const auto start = std::chrono::steady_clock::now();
    ProgramResult result = compiler_.compile(input, stop_.get_token());
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
      if (winding_up_) return;
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
  std::size_t unfinished_ = 0;  // programs waiting or under way, and begin()
  std::deque<std::size_t> done_;
  bool winding_up_ = false;

  std::stop_source stop_;
  std::thread first_worker_;
  std::vector<std::thread> workers_;  // the first one's
};

}  // namespace

std::unique_ptr<CompileBatch> start_batch(ProgramCompiler compiler, std::shared_ptr<CompileCache> cache,
                                          const std::vector<CompileRequest>& requests) {
  return std::make_unique<ProgramBatch>(std::move(compiler), std::move(cache), requests);
}

}  // namespace heddle
