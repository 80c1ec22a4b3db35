// Where the time of a tuning run goes, without a GPU: the tuner with virtual time, in which a card of the shipped
// model's times runs and kernels are compiled, and the real time of all that chooses.
//
//   virtual_run --budget 60 --more 500 --noise 0.03
//
// The default problems of sonfin-train are tuned for --budget seconds, and for --more in addition. A configuration
// takes the model's time, times a factor that stays with it (--noise, a deviation of logarithms, for the configuration
// and at each problem). Says how many problems were reached, and what was chosen first loses against what is chosen in
// the end; with --worth, too, what winners lose by the values of theirs that are chosen last. The figures are a
// model's, good for comparing one tuner with another.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/cost_model.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle {
namespace {

struct Card {
  double noise = 0.03;
  double compile_seconds = 0.9, prepare_seconds = 0.008, run_seconds = 0.0025, verify_seconds = 0.03;
  std::size_t threads = 16;
  std::uint64_t seed = 1;
  std::map<std::string, double> worth;  ///< factors of the time, by what is within a configuration: "first_look=250"
  double uneven = 0.0;                  ///< how much these differ from problem to problem
};

const DeviceIdentity kDevice{.backend = "cuda",
                             .name = "virtual",
                             .architecture = "9.0",
                             .units = 132,
                             .memory_gib = 79,
                             .cache_bytes = 50 << 20,
                             .local_bytes = 227 << 10};

class VirtualEvaluator final : public Evaluator {
 public:
  VirtualEvaluator(const KernelFamily& family, DeviceIdentity device, CostModel model, const Card& card)
      : family_(family), device_(std::move(device)), model_(std::move(model)), card_(card), free_at_(card.threads) {}

  /// Seconds of virtual time, in which the host's own time passes as well.
  double now() {
    const auto real = std::chrono::steady_clock::now();
    now_ += std::chrono::duration<double>(real - real_).count();
    real_ = real;
    return now_;
  }
  double cost(const Configuration& configuration, const Problem& problem) const {
    constexpr double kUnknown = 6.0;  // microseconds: what is launched for every sample
    const std::string text = configuration.text();
    return worth(text, problem) * model_.expected(configuration, problem).value_or(kUnknown) *
           std::exp(card_.noise * (0.6 * drawn(text) + 0.8 * drawn(text + problem.text())));
  }
  bool has_worth() const { return !card_.worth.empty(); }
  /// What the values that are chosen last make of the time.
  double worth(const std::string& configuration, const Problem& problem) const {
    double logarithm = 0.0;
    for (const auto& [value, factor] : card_.worth) {
      const bool has_all = std::ranges::all_of(CLI::detail::split(value, '+'), [&](const std::string& each) {
        return (' ' + configuration + ' ').find(' ' + each + ' ') != std::string::npos;
      });
      if (!has_all) continue;
      logarithm += std::log(factor) * std::max(0.0, 1.0 + card_.uneven * drawn(value + problem.text()));
    }
    return std::exp(logarithm);
  }

  const KernelFamily& family() const override { return family_; }
  const DeviceIdentity& device() const override { return device_; }
  Provenance provenance() const override {
    return {.driver = "virtual",
            .compiler = "",
            .tool = "",
            .host = "",
            .clocks = "",
            .date = "2026-01-01T00:00:00Z",
            .seed = 0,
            .strategy = ""};
  }
  bool shares_processor() const override { return false; }
  std::size_t compiler_threads() const override { return card_.threads; }
  std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                       const Problem& problem) override {
    auto list = std::make_unique<List>(*this, configurations.size());
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      for (const KernelInstance& kernel : family_.kernels(configurations[i], problem, device_)) {
        const auto [place, fresh] = kernels_.try_emplace(kernel.text());
        Kernel& wanted = place->second;
        const bool asked = !wanted.end && wanted.wanted_by == 0;  // or dropped by all who asked before
        list->wait_for(i, wanted);
        if (!fresh && !asked) continue;
        wanted.asked = now();
        list->pays_for(i);
        line_.push_back(&wanted);
      }
    }
    return list;
  }
  std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem, std::int64_t) override {
    now_ = now() + card_.prepare_seconds;
    return std::make_unique<Repetitions>(*this, cost(configuration, problem));
  }
  void check_device() override {}
  Verdict verify(const Configuration&, const Problem&, VerificationExtent) override { return verified(); }
  Verdict verify_timed_run(const Configuration&, const Problem&, std::int64_t, const Configuration&) override {
    return verified();
  }

 private:
  /// Of a normal distribution, the same for the same words.
  double drawn(const std::string& of) const {
    std::mt19937_64 random(std::hash<std::string>()(of) + card_.seed);
    return std::normal_distribution<double>()(random);
  }
  /// A kernel in the line of the compiler's threads.
  struct Kernel {
    double asked = 0.0;
    std::optional<double> end = {};  ///< once a thread has begun it
    int wanted_by = 0;
  };
  class List final : public Compilation {
   public:
    List(VirtualEvaluator& owner, std::size_t count) : owner_(owner), kernels_(count), paid_(count) {}
    ~List() override { drop(); }
    void wait_for(std::size_t configuration, Kernel& kernel) {
      kernels_[configuration].push_back(&kernel);
      ++kernel.wanted_by;
    }
    void pays_for(std::size_t configuration) { paid_[configuration] += owner_.card_.compile_seconds; }
    std::optional<Done> next(const Stop& stop) override {
      constexpr double kTick = 0.02;
      while (!is_over()) {
        for (std::size_t i = 0; i < kernels_.size(); ++i) {
          if (given_.contains(i) || !is_compiled(i)) continue;
          given_.insert(i);
          return Done{.index = i, .compiled = true, .seconds = paid_[i], .log = ""};
        }
        if (stop && stop()) throw Interrupted();
        owner_.now_ = owner_.now() + kTick;
      }
      return std::nullopt;
    }
    bool done() override {
      for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (!given_.contains(i) && !is_compiled(i)) return false;
      }
      return true;
    }
    void wind_up() override { drop(); }

   private:
    [[nodiscard]] bool is_over() const { return given_.size() == kernels_.size(); }
    bool is_compiled(std::size_t configuration) {
      owner_.compile_until(owner_.now());
      return std::ranges::all_of(kernels_[configuration],
                                 [&](const Kernel* kernel) { return kernel->end.value_or(HUGE_VAL) <= owner_.now_; });
    }
    /// What no thread has begun is not compiled, unless somebody else waits for it.
    void drop() {
      owner_.compile_until(owner_.now());
      for (std::size_t i = 0; i < kernels_.size(); ++i) {
        for (Kernel* const kernel : kernels_[i]) {
          if (kernel->end) continue;
          given_.insert(i);
          if (--kernel->wanted_by == 0) std::erase(owner_.line_, kernel);
        }
        std::erase_if(kernels_[i], [](const Kernel* kernel) { return !kernel->end; });
      }
    }

    VirtualEvaluator& owner_;
    std::vector<std::vector<Kernel*>> kernels_;  ///< of each configuration
    std::vector<double> paid_;                   ///< seconds of the compiler, of each
    std::set<std::size_t> given_;                ///< configurations of which nobody will hear any more
  };
  class Repetitions final : public Runner {
   public:
    Repetitions(VirtualEvaluator& owner, double cost) : owner_(owner), cost_(cost) {}
    double time(const Stop&) override {
      constexpr double kNoise = 0.003;  // of a repetition, as an H100's
      owner_.now_ = owner_.now() + owner_.card_.run_seconds;
      return cost_ * (1.0 + kNoise * std::uniform_real_distribution<double>()(owner_.random_));
    }
    void check_guards() override {}

   private:
    VirtualEvaluator& owner_;
    double cost_;
  };
  /// Threads take what is first in the line.
  void compile_until(double time) {
    while (!line_.empty()) {
      double& thread = *std::ranges::min_element(free_at_);
      const double start = std::max(thread, line_.front()->asked);
      if (start > time) return;
      line_.front()->end = thread = start + card_.compile_seconds;
      line_.pop_front();
    }
  }
  Verdict verified() {
    now_ = now() + card_.verify_seconds;
    return {};
  }

  const KernelFamily& family_;
  const DeviceIdentity device_;
  const CostModel model_;
  const Card card_;
  double now_ = 0.0;
  std::chrono::steady_clock::time_point real_ = std::chrono::steady_clock::now();
  std::mt19937_64 random_{1};
  std::map<std::string, Kernel> kernels_;
  std::deque<Kernel*> line_;     ///< those that no thread has begun
  std::vector<double> free_at_;  ///< of the compiler's threads
};

using Chosen = std::map<Problem, double>;  ///< microseconds of what a database chooses

double geometric_mean(const Chosen& chosen) {
  double sum = 0.0;
  for (const auto& [problem, time] : chosen) sum += std::log(time);
  return std::exp(sum / static_cast<double>(std::max<std::size_t>(chosen.size(), 1)));
}

/// How much longer a winner takes than with the best of what is chosen last.
double loss_of_last_choices(const VirtualEvaluator& evaluator, const SearchSpace& space, const Configuration& winner,
                            const Problem& problem) {
  std::vector<Configuration> all{space.unrefined(winner)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (Configuration& each : space.refinements(all[i], problem)) {
      if (std::ranges::find(all, each) == all.end()) all.push_back(std::move(each));
    }
  }
  double best = HUGE_VAL;
  for (const Configuration& each : all) best = std::min(best, evaluator.worth(each.text(), problem));
  return evaluator.worth(winner.text(), problem) / best - 1.0;
}

Chosen tune(VirtualEvaluator& evaluator, ProfileStore& store, const std::vector<Problem>& problems, double seconds,
            std::uint64_t seed) {
  const double begin = evaluator.now();
  StopCondition stop({.seconds = seconds, .evaluations = {}}, {}, [&] { return evaluator.now(); });
  const auto results = Tuner(evaluator, store, {.seed = seed, .tune_sizes_between = true}).tune(problems, stop);
  Effort effort;
  std::int64_t tried = 0;
  for (const TuningResult& result : results) {
    effort += result.effort;
    tried += result.evaluations();
  }
  const SearchSpace space = evaluator.family().space(evaluator.device());
  Chosen chosen;
  double loss = 0.0, refined = 0.0;
  for (const Profile& profile : store.knowledge(std::string(evaluator.family().name())).profiles) {
    const Problem& problem = profile.key.problem;
    if (std::ranges::find(problems, problem) == problems.end()) continue;
    const Configuration winner = space.parse(profile.configuration);
    chosen[problem] = evaluator.cost(winner, problem);
    if (space.chosen_last(winner).empty()) continue;
    loss += loss_of_last_choices(evaluator, space, winner, problem);
    ++refined;
  }
  fmt::print(
      "{:.0f} s, {:.1f} taken: {} of {} problems, {:.4f} us in geometric mean, {} configurations; {:.1f} s waiting, "
      "{:.1f} "
      "measuring, {:.1f} verifying\n",
      seconds, evaluator.now() - begin, chosen.size(), problems.size(), geometric_mean(chosen), tried, effort.waiting,
      effort.measuring, effort.verifying);
  if (refined > 0.0 && evaluator.has_worth()) {
    fmt::print(
        "{:.0f} winners may have values that are chosen last, and take {:.2f} % longer on average than with the best\n",
        refined, 100.0 * loss / refined);
  }
  return chosen;
}

/// "first_look=250:0.95", "first_look=250+replicas=4:0.95".
std::pair<std::string, double> worth_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const SearchSpace space = sonfin::train_family().space(kDevice);
  const std::string value = text.substr(0, colon);
  const bool known = std::ranges::all_of(CLI::detail::split(value, '+'), [&](const std::string& word) {
    return std::ranges::any_of(space.parameters(), [&](const Parameter& parameter) {
      return std::ranges::any_of(parameter.values, [&](const Value& each) {
        return word == fmt::format("{}={}", parameter.name, heddle::text(each));
      });
    });
  });
  double factor = 0.0;
  const char* const end = text.data() + text.size();
  const bool parsed = colon != std::string::npos &&
                      std::from_chars(text.data() + colon + 1, end, factor) == std::from_chars_result{end, std::errc()};
  if (!known || !parsed || !std::isfinite(factor) || factor <= 0.0) {
    throw Error(
        ErrorKind::usage,
        fmt::format("option --worth: found '{}', expected NAME=VALUE:FACTOR or NAME=VALUE+NAME=VALUE:FACTOR with "
                    "values of sonfin-train's space and a factor above 0",
                    text));
  }
  return {value, factor};
}

int run(const Card& card, double budget, double more) {
  const KernelFamily& family = sonfin::train_family();
  const DeviceIdentity& device = kDevice;
  auto model = choose_model(family, device, {});
  if (!model) throw Error(ErrorKind::input, "no weights of sonfin-train are shipped");
  VirtualEvaluator evaluator(family, device, *std::move(model), card);
  ProfileStore store(":memory:", ProfileStore::Access::read_write);
  const std::vector<Problem> problems = family.default_problems(device);
  const Chosen first = tune(evaluator, store, problems, budget, card.seed);
  const Chosen end = tune(evaluator, store, problems, more, card.seed);
  double sum = 0.0, worst = 0.0;
  for (const auto& [problem, time] : first) {
    const double loss = time / end.at(problem) - 1.0;
    sum += loss;
    worst = std::max(worst, loss);
  }
  fmt::print("what was chosen first is {:.2f} % slower on average, {:.1f} % at worst\n",
             100.0 * sum / static_cast<double>(std::max<std::size_t>(first.size(), 1)), 100.0 * worst);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) {
  heddle::Card card;
  double budget = 60.0, more = 500.0;
  CLI::App app("Where the time of a tuning run goes, in virtual time");
  app.add_option("--budget", budget, "seconds of the first run");
  app.add_option("--more", more, "seconds of the run that goes on");
  app.add_option("--noise", card.noise, "how much configurations differ from the model");
  app.add_option("--compile", card.compile_seconds, "seconds for a kernel");
  app.add_option("--prepare", card.prepare_seconds, "seconds to prepare a configuration");
  app.add_option("--run", card.run_seconds, "seconds of a repetition");
  app.add_option("--verify", card.verify_seconds, "seconds of a verification");
  app.add_option("--threads", card.threads, "of the compiler");
  app.add_option("--seed", card.seed);
  std::vector<std::string> worth;
  app.add_option("--worth", worth, "what a value makes of the time: first_look=250:0.95");
  app.add_option("--uneven", card.uneven, "how much that differs from problem to problem, 1: as much as it is");
  CLI11_PARSE(app, count, values);
  return heddle::bench::exit_code("virtual_run", [&] {
    for (const std::string& each : worth) card.worth.insert(heddle::worth_of(each));
    return heddle::run(card, budget, more);
  });
}
