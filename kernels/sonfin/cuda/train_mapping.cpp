#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/cuda/launched_shape.hpp"
#include "heddle/kernels/sonfin/cuda/plan_writer.hpp"
#include "heddle/kernels/sonfin/cuda/resident_shape.hpp"
#include "heddle/kernels/sonfin/cuda/resident_terms.hpp"
#include "heddle/kernels/sonfin/mapping.hpp"

namespace heddle::sonfin {

namespace {

constexpr std::int64_t kBlocksOfCluster = 16;
constexpr const char* kHalf = "halves";
constexpr std::int64_t kMostKept = 4;  ///< rules of a thread on chip where others are not

bool is_launched(const Configuration& c) { return !is_resident(c); }
bool streams(const Configuration& c) { return is_resident(c) && c.word("storage") == "stream"; }

std::vector<Parameter> parameters(const DeviceIdentity& device) {
  const bool clusters = device.compute_capability() >= 90;
  std::vector<Parameter> list{
      {.name = "scheme",
       .values = clusters ? words({"graph", "stepwise", "block", "cluster", "grid"})
                          : words({"graph", "stepwise", "block", "grid"}),
       .meaning =
           "launches per sample, captured or one by one; or parameters that stay on chip for many samples, in one "
           "block, a cluster of blocks, or a grid",
       .active = {}},
      {.name = "coarsen_count",
       .values = numbers({1, 2, 4, 8, 3, 6, 5, 7}),
       .meaning = "tasks one thread takes at a time",
       .active = {}},
      {.name = "coarsening",
       .values = words({"dims", "rules"}),
       .meaning = "whether these are inputs of one rule, or rules at one input",
       .active = [](const Configuration& c) { return c.number("coarsen_count") > 1; }},
      {.name = "block_size",
       .values = numbers({64, 128, 256, 512, 1024, 32}),
       .meaning = "threads of a block",
       .active = {}},
      {.name = "threads_per_rule",
       .values = numbers({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}),
       .meaning = "threads that share a rule",
       .active = {}},
      {.name = "vector", .values = numbers({4, 2, 1}), .meaning = "inputs in one memory access", .active = {}},
      {.name = "storage",
       .values = words({"registers", "shared", "split", "halves", "stream"}),
       .meaning =
           "where parameters stay: registers, shared memory, centres in registers and widths in shared memory, half "
           "of a thread's rules in registers and the others in shared memory, or some rules there and the others in "
           "global memory, requested ahead",
       .active = is_resident},
      {.name = "kept_rules",
       .values = numbers({2, 1, 3, kMostKept, 0}),
       .meaning = "rules of a thread on chip, half of them in registers; its other rules are in global memory",
       .active = streams},
      {.name = "kernels", .values = numbers({1, 2, 3}), .meaning = "launches per sample", .active = is_launched},
      {.name = "reduction",
       .values = words({"shuffle", "tree"}),
       .meaning = "sums over a rule by shuffles, or by a tree in shared memory",
       .active = [](const Configuration& c) { return is_launched(c) && c.number("kernels") == 3; }},
      {.name = "combine_size",
       .values = numbers({256, 1024}),
       .meaning = "threads that combine the rules",
       .active = [](const Configuration& c) { return is_launched(c) && c.number("kernels") > 1; }}};
  if (clusters) {
    list.push_back({.name = "launch",
                    .values = words({"ordered", "overlapped"}),
                    .meaning = "whether a launch is set up while the one before it runs",
                    .active = is_launched});
  }
  const auto in_a_grid = [](const Configuration& c) { return c.word("scheme") == "grid"; };
  list.push_back({.name = "first_look",
                  .values = numbers({kFirstLook, 250, 340, 560, 720}),
                  .meaning = "cycles that a block waits for the packets of others before it looks for them",
                  .active = in_a_grid,
                  .chosen_last = true});
  list.push_back({.name = "packets_per_cycle",
                  .values = numbers({kPacketsOfCycle, 3, 10}),
                  .meaning = "packets of a round for which it waits a cycle longer",
                  .active = in_a_grid,
                  .chosen_last = true});
  list.push_back({.name = "replicas",
                  .values = numbers({kReplicas, 4, 16}),
                  .meaning = "copies of every packet, so that fewer blocks read the same one",
                  .active = in_a_grid,
                  .chosen_last = true});
  list.push_back({.name = "rows_ahead",
                  .values = numbers({1, 2}),
                  .meaning = "rows in shared memory that arrive while one is learnt",
                  .active =
                      [](const Configuration& c) {
                        return c.word("scheme") == "grid" && c.number("threads_per_rule") > kWarp &&
                               c.word("storage") != "registers";
                      },
                  .chosen_last = true});
  list.push_back({.name = "moved_packs",
                  .values = numbers({0, 2, 3, 4}),
                  .meaning = "packs of inputs of a rule in registers that are in shared memory all the same, which "
                             "leaves registers to work with",
                  .active = [](const Configuration& c) { return is_resident(c) && c.word("storage") == kHalf; },
                  .chosen_last = true});
  list.push_back({.name = "packs_ahead",
                  .values = numbers({kPacksAhead, 4, 8}),
                  .meaning = "packs of inputs that a thread requests ahead of its rules in global memory",
                  .active = streams,
                  .chosen_last = true});
  return list;
}

/// A constraint on the launched schemes alone, or on the resident ones.
template <class Holds>
Constraint launched(std::string name, std::string last, Holds holds) {
  return {std::move(name), std::move(last), [holds](const Configuration& c, const Problem& p, const DeviceIdentity& d) {
            return is_resident(c) || holds(c, p, d);
          }};
}
template <class Holds>
Constraint resident(std::string name, std::string last, Holds holds) {
  return {std::move(name), std::move(last), [holds](const Configuration& c, const Problem& p, const DeviceIdentity& d) {
            return is_launched(c) || holds(ResidentShape(c, p), p, d);
          }};
}

/// Several resident warps share a rule only if each of their threads has inputs for that.
bool allows_resident_lanes(std::int64_t lanes, const Problem& problem) {
  constexpr std::int64_t kManyInputs = 256, kOfThread = 4;
  return lanes <= kWarp || (problem.at("dim") >= kManyInputs && kOfThread * lanes < 2 * padded(problem.at("dim")));
}
/// 5 or 7 rules a thread only where several resident warps share them.
bool allows_resident_count(std::int64_t count, std::int64_t lanes) {
  return (count != 5 && count != 7) || lanes > kWarp;
}
/// Half of a thread's rules in shared memory only where several resident warps share them.
bool allows_halves(std::int64_t count, std::int64_t lanes) { return lanes > kWarp && count > 1; }

bool registers_suffice(const ResidentShape& shape) {
  return shape.registers() <= cuda::registers_of_thread(shape.block);
}
bool shared_memory_suffices(const ResidentShape& shape, const DeviceIdentity& device) {
  return shape.shared_bytes() <= device.local_bytes;
}

/// The most rules that a block keeps on chip, with the link and the vector of `shape`.
std::int64_t most_rules_of_block(ResidentShape shape, const DeviceIdentity& device, const Problem& problem) {
  using Storage = ResidentShape::Storage;
  constexpr std::int64_t kMostThreads = 1024, kMostRules = 8;
  shape.rows_ahead = 1;  // chosen last: the answer must not depend on it
  std::int64_t most = 0;
  for (shape.block = kWarp; shape.block <= kMostThreads; shape.block *= 2) {
    for (shape.lanes = 1; shape.lanes <= shape.block && allows_resident_lanes(shape.lanes, problem); shape.lanes *= 2) {
      for (shape.rules = 1; shape.rules <= kMostRules; ++shape.rules) {
        if (!allows_resident_count(shape.rules, shape.lanes) || shape.rules_per_block() <= most) continue;
        for (const Storage storage : {Storage::registers, Storage::shared, Storage::split, Storage::halves}) {
          if (storage == Storage::halves && !allows_halves(shape.rules, shape.lanes)) continue;
          shape.storage = storage;
          const ResidentShape here = shape.at(problem);
          if (registers_suffice(here) && shared_memory_suffices(here, device)) most = here.rules_per_block();
        }
      }
    }
  }
  return most;
}

/// Whether the blocks of a grid keep all rules on chip. An enumeration asks for the same problem again and again, with
/// one vector after the other.
bool fits_on_chip(const ResidentShape& shape, const DeviceIdentity& device, const Problem& problem) {
  struct Last {
    DeviceIdentity device;
    Problem problem;
    std::map<std::int64_t, bool> fits;  // by vector
  };
  thread_local std::optional<Last> last;
  if (!last || last->problem != problem || last->device != device) last = Last{device, problem, {}};
  if (const auto known = last->fits.find(shape.vector); known != last->fits.end()) return known->second;
  const bool fits = problem.at("rules") <= device.units * most_rules_of_block(shape, device, problem);
  last->fits.emplace(shape.vector, fits);
  return fits;
}

std::vector<Constraint> constraints() {
  using Identity = DeviceIdentity;
  using Shape = ResidentShape;
  return {
      launched("coarsen_count is a power of two", "coarsen_count",
               [](const Configuration& c, const Problem&, const Identity&) {
                 return std::has_single_bit(static_cast<std::uint64_t>(c.number("coarsen_count")));
               }),
      {"resident threads keep whole rows: coarsening over rules", "coarsening",
       [](const Configuration& c, const Problem&, const Identity&) {
         return is_launched(c) || c.number("coarsen_count") == 1 || c.word("coarsening") == "rules";
       }},
      {"coarsen_count <= dim, rules", "coarsening",
       [](const Configuration& c, const Problem& p, const Identity&) {
         const std::int64_t count = c.number("coarsen_count");
         return count == 1 || count <= p.at(c.word("coarsening") == "dims" ? "dim" : "rules");
       }},
      {"threads_per_rule <= block_size", "threads_per_rule",
       [](const Configuration& c, const Problem&, const Identity&) {
         return c.number("threads_per_rule") <= c.number("block_size");
       }},
      {"several resident warps share a rule only if it has at least 256 inputs, 4 of them a thread", "threads_per_rule",
       [](const Configuration& c, const Problem& p, const Identity&) {
         return is_launched(c) || allows_resident_lanes(c.number("threads_per_rule"), p);
       }},
      {"5 or 7 rules a thread only where several resident warps share them", "threads_per_rule",
       [](const Configuration& c, const Problem&, const Identity&) {
         return allows_resident_count(c.number("coarsen_count"), is_resident(c) ? c.number("threads_per_rule") : 1);
       }},
      launched("at most 16 parameters of a kind in a thread's registers, 8 in blocks of 1024", "vector",
               [](const Configuration& c, const Problem&, const Identity&) {
                 return c.number("coarsen_count") * c.number("vector") <= (c.number("block_size") == 1024 ? 8 : 16);
               }),
      {"no more than half of a rule's threads without an input", "vector",
       [](const Configuration& c, const Problem& p, const Identity&) {
         const Tiling tiling(c);
         const std::int64_t span = is_resident(c) ? tiling.lanes * tiling.vector : tiling.span();
         return span <= std::max(2 * padded(p.at("dim")) - 1, kWarp);
       }},
      launched("a row in at most 64 passes", "vector",
               [](const Configuration& c, const Problem& p, const Identity&) {
                 return padded(p.at("dim")) <= 64 * Tiling(c).span();
               }),
      {"no more than half of a block without a rule", "vector",
       [](const Configuration& c, const Problem& p, const Identity&) {
         return c.number("block_size") == kWarp || Tiling(c).rules_per_block() < 2 * p.at("rules");
       }},
      {"half of the rules in shared memory only where several resident warps share them, and each has two at least",
       "storage",
       [](const Configuration& c, const Problem&, const Identity&) {
         return is_launched(c) || c.word("storage") != "halves" ||
                allows_halves(c.number("coarsen_count"), c.number("threads_per_rule"));
       }},
      {"rules stream only where several resident warps share them, and each thread has more than stay on chip",
       "kept_rules",
       [](const Configuration& c, const Problem&, const Identity&) {
         return !streams(c) ||
                (c.number("threads_per_rule") > kWarp && c.number("kept_rules") < c.number("coarsen_count"));
       }},
      resident("rules stream only in a grid, and where no grid keeps all on chip", "storage",
               [](const Shape& shape, const Problem& p, const Identity& device) {
                 return shape.storage != Shape::Storage::stream ||
                        (shape.link == Shape::Link::grid && !fits_on_chip(shape, device, p));
               }),
      resident("as many blocks as the scheme links, each on a multiprocessor", "storage",
               [](const Shape& shape, const Problem&, const Identity& device) {
                 switch (shape.link) {
                   case Shape::Link::block:
                     return shape.blocks == 1;
                   case Shape::Link::cluster:
                     return shape.blocks > 1 && shape.blocks <= kBlocksOfCluster;
                   case Shape::Link::grid:
                     return shape.blocks > 1 && shape.blocks <= device.units;
                 }
                 return false;
               }),
      resident("a rule in registers keeps some packs there", "storage",
               [](const Shape& shape, const Problem&, const Identity&) { return shape.moved_packs < shape.packs; }),
      resident("registers of a thread and a block", "kept_rules",
               [](const Shape& shape, const Problem&, const Identity&) { return registers_suffice(shape); }),
      resident("shared memory of a block of a resident scheme", "kept_rules",
               [](const Shape& shape, const Problem&, const Identity& device) {
                 return shared_memory_suffices(shape, device);
               }),
      resident("as many of a thread's rules stay on chip as fit, or one less", "kept_rules",
               [](const Shape& shape, const Problem&, const Identity& device) {
                 if (shape.storage != Shape::Storage::stream) return true;
                 Shape more = shape;
                 more.kept_rules += 2;
                 return more.kept_rules > kMostKept || more.kept_rules >= more.rules || !registers_suffice(more) ||
                        !shared_memory_suffices(more, device);
               }),
      launched("a tree is the published mapping: separate launches, no coarsening", "reduction",
               [](const Configuration& c, const Problem&, const Identity&) {
                 return !c.has("reduction") || c.word("reduction") == "shuffle" ||
                        (c.word("scheme") == "stepwise" && c.number("coarsen_count") == 1 && c.number("vector") == 1);
               }),
      launched("at most 1024 blocks whose sums every block combines", "kernels",
               [](const Configuration& c, const Problem& p, const Identity&) {
                 return c.number("kernels") > 1 || Tiling(c).blocks(p.at("rules")) <= 1024;
               }),
      launched("shared memory of a block", "combine_size",
               [](const Configuration& c, const Problem& p, const Identity& device) {
                 return LaunchedShape(c).shared_bytes(p) <= device.local_bytes;
               }),
  };
}

/// A scheme with some counts and block sizes, in the order in which they are tried.
struct Preference {
  const char* scheme;
  std::vector<std::int64_t> counts, blocks, lanes;
  std::string_view storage = {};  ///< the only one; empty: any but kHalf
  std::int64_t moved_packs = 0;
};

/// Where rules have many inputs: 256 threads a rule, and as few rules a thread as the card has room for. Many rules of
/// that many inputs do not leave a thread the registers for what it keeps of each of them (docs/performance.md,
/// "Several warps a rule"). Then 64 threads have two rules, one in registers and one in shared memory.
std::vector<Preference> wide_preferences(const DeviceIdentity& device, const Problem& problem) {
  constexpr std::int64_t kManyInputs = 1536, kThreads = 256;
  if (problem.at("dim") < kManyInputs) return {};
  const std::vector<std::int64_t> counts{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<Preference> all{{"grid", counts, {kThreads}, {kThreads}}, {"grid", counts, {2 * kThreads}, {kThreads}}};
  constexpr std::int64_t kMostInRegisters = 140;  // inputs of all rules of a thread
  const std::int64_t inputs = ceil_div(problem.at("dim"), 4 * kThreads) * 4;
  if (ceil_div(problem.at("rules"), device.units) * inputs > kMostInRegisters) {
    constexpr std::int64_t kMoved = 2;
    const Preference halves{"grid", {2}, {kThreads}, {kThreads / 4}, kHalf};
    Preference with_room = halves;
    with_room.moved_packs = kMoved;
    all.insert(all.begin(), {with_room, halves});
  }
  return all;
}

/// The scheme with the cheapest exchange that holds the parameters, with one to four packs of inputs a thread. What an
/// exchange costs grows with the warps that take part and, if there are many outputs, with what each of them tells: a
/// cluster of blocks of 128 threads, then a grid; with one output any cluster is better than a grid. The sizes follow
/// from what tuning chose on an H200 (bench/results/nvidia-h200/tune.txt).
std::vector<Preference> resident_preferences(const DeviceIdentity& device, const Problem& problem) {
  constexpr std::int64_t kTasksOfBlock = 2048;
  // Threads that the rules are spread over: one block, half of the largest cluster, half of the card.
  constexpr std::int64_t kOfBlock = 128, kOfCluster = 8 * 128, kOfGrid = 64 * 256;
  const std::int64_t rules = problem.at("rules"), stride = padded(problem.at("dim"));
  const std::int64_t least = std::min(kWarp, power_of_two_from(ceil_div(stride, 16)));
  const std::int64_t most = std::max(least, std::min(kWarp, power_of_two_below(stride / 4)));
  const auto lanes = [&](std::int64_t threads) {
    return std::clamp(power_of_two_below(std::max<std::int64_t>(threads / rules, 1)), least, most);
  };
  const std::int64_t cluster = lanes(kOfCluster);
  const bool many = problem.at("outputs") > 1;
  const std::vector<std::int64_t> counts{1, 2, 3, 4, 6, 8}, blocks{128, 256, 64, 32}, fewer{256, 128, 64, 32};

  std::vector<Preference> all = wide_preferences(device, problem);
  if (stride * rules <= kTasksOfBlock) all.push_back({"block", counts, blocks, {lanes(kOfBlock)}});
  all.push_back({"cluster", {1}, {128}, {cluster, std::max<std::int64_t>(cluster / 2, 1)}});
  const Preference any_cluster{"cluster", counts, blocks, {least}};
  const Preference grid{"grid", counts, many ? fewer : blocks, {lanes(kOfGrid)}};
  for (const Preference& one : many ? std::vector{grid, any_cluster} : std::vector{any_cluster, grid})
    all.push_back(one);
  return all;
}

/// Takes the text of a configuration. Says whether that will do; then no other is offered.
using Accept = std::function<bool(const std::string&)>;

void offer_resident(const DeviceIdentity& device, const Problem& problem, const Accept& accept) {
  const std::vector<Preference> preferences = resident_preferences(device, problem);
  for (const char* storage : {"registers", kHalf, "split", "shared"}) {
    for (const Preference& preference : preferences) {
      if (preference.storage.empty() ? storage == kHalf : preference.storage != storage) continue;
      if (preference.scheme == std::string_view("cluster") && device.compute_capability() < 90) continue;
      const std::string moved =
          preference.moved_packs > 0 ? fmt::format(" moved_packs={}", preference.moved_packs) : "";
      for (const std::int64_t count : preference.counts) {
        for (const std::int64_t block : preference.blocks) {
          for (const std::int64_t lanes : preference.lanes) {
            if (accept(fmt::format(
                    "scheme={} coarsen_count={}{} block_size={} threads_per_rule={} vector=4 storage={}{}",
                    preference.scheme, count, count > 1 ? " coarsening=rules" : "", block, lanes, storage, moved))) {
              return;
            }
          }
        }
      }
    }
  }
}

/// The grid of 256 threads a block that streams the fewest bytes; of several, the one whose threads have the fewest
/// rules. Bytes decide, because where much streams, these take longer than all else (docs/performance.md, "Rules that
/// do not fit on chip"). Larger blocks have half of the registers: 862 bytes of them are spilled at 4000x2048x26, 140
/// with 256 threads (ptxas 13.0, sm_90). All of this is counted: no GPU has timed such a grid yet. Nothing where the
/// space has none.
std::optional<Configuration> streaming_default(const SearchSpace& space, const Problem& problem) {
  constexpr std::int64_t kBlock = 256, kMostRules = 8;
  std::optional<Configuration> best;
  std::pair<std::int64_t, std::int64_t> least;  // bytes that stream, rules of a thread
  for (std::int64_t lanes = 2 * kWarp; lanes <= kBlock; lanes *= 2) {
    for (std::int64_t count = 1; count <= kMostRules; ++count) {
      for (std::int64_t kept = 0; kept <= std::min(count - 1, kMostKept); ++kept) {
        Configuration candidate = space.parse(
            fmt::format("scheme=grid coarsen_count={}{} block_size={} threads_per_rule={} vector=4 storage=stream "
                        "kept_rules={}",
                        count, count > 1 ? " coarsening=rules" : "", kBlock, lanes, kept));
        if (space.violated(candidate, problem)) continue;
        const std::pair here(ResidentShape(candidate, problem).streamed_bytes(), count);
        if (best && here >= least) continue;
        least = here;
        best = std::move(candidate);
      }
    }
  }
  return best;
}

/// One pack of four inputs per thread, up to two warps per rule. Overlapped launches gain a tenth at most sizes and
/// lose half at some, so they are left to configurations that were measured.
void offer_launched(const DeviceIdentity& device, const Problem& problem, const Accept& accept) {
  const std::int64_t wanted = std::clamp<std::int64_t>(power_of_two_below(padded(problem.at("dim")) / 4), 1, 64);
  for (const std::int64_t kernels : {1, 2}) {
    for (std::int64_t lanes = wanted; lanes <= 1024; lanes *= 2) {
      for (const std::int64_t block : {128, 64, 32, 256, 512, 1024}) {
        if (block < lanes) continue;
        if (accept(fmt::format("scheme=graph coarsen_count=1 block_size={} threads_per_rule={} vector=4 kernels={}{}{}",
                               block, lanes, kernels, kernels > 1 ? " combine_size=1024" : "",
                               device.compute_capability() >= 90 ? " launch=ordered" : ""))) {
          return;
        }
      }
    }
  }
}

using Offer = void (*)(const DeviceIdentity&, const Problem&, const Accept&);

std::optional<Configuration> first_allowed(const SearchSpace& space, Offer offer, const DeviceIdentity& device,
                                           const Problem& problem) {
  std::optional<Configuration> found;
  offer(device, problem, [&](const std::string& text) {
    Configuration candidate = space.parse(text);
    if (!space.violated(candidate, problem)) found = std::move(candidate);
    return found.has_value();
  });
  return found;
}

class TrainMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/sonfin/cuda/train.cuh", cuda_network_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override { return {device, parameters(device), constraints()}; }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    const SearchSpace all = space(device);
    if (auto resident = first_allowed(all, offer_resident, device, problem)) return *std::move(resident);
    if (auto streaming = streaming_default(all, problem)) return *std::move(streaming);
    if (auto launched = first_allowed(all, offer_launched, device, problem)) return *std::move(launched);
    throw Error(ErrorKind::usage,
                fmt::format("{} is too large for the sonfin-train kernels on {}", problem.text(), device.name));
  }

  /// Where the default streams, the launched scheme too: no GPU has said which of them is faster, and it asks for less.
  std::vector<Configuration> likely_configurations(const DeviceIdentity& device,
                                                   const Problem& problem) const override {
    std::vector<Configuration> likely;
    if (!streams(default_configuration(device, problem))) return likely;
    if (auto launched = first_allowed(space(device), offer_launched, device, problem))
      likely.push_back(*std::move(launched));
    return likely;
  }

  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    const bool launches = device.compute_capability() >= 90;
    return {
        {.name = "gpu-fnn",
         .meaning = "Juang and Chen: one block per rule, one thread per input, tree reduction, three launches",
         .configuration = [space = space(device), launches](const Problem& p) -> std::optional<Configuration> {
           if (p.at("dim") > 1024) return std::nullopt;
           const auto threads = std::max<std::int64_t>(
               static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.at("dim")))), kWarp);
           return space.parse(fmt::format(
               "scheme=stepwise coarsen_count=1 block_size={0} threads_per_rule={0} vector=1 kernels=3 reduction=tree "
               "combine_size={1}{2}",
               threads, p.at("rules") > 256 ? 1024 : 256, launches ? " launch=ordered" : ""));
         }}};
  }

  Layout layout(const Configuration&, const Problem& problem, const DeviceIdentity&) const override {
    return rows_of_four(problem);
  }

  std::span<const std::string_view> cost_terms() const override { return resident_term_names(); }

  TermCounts term_counts(const Configuration& configuration) const override {
    if (!is_resident(configuration)) return {};
    const ResidentShape shape(configuration);
    if (shape.lanes > shape.block) return {};  // allowed nowhere
    return resident_term_counts(shape);
  }

  Kernels kernels(const Configuration& configuration, const Problem& problem) const override {
    return is_resident(configuration) ? ResidentShape(configuration, problem).kernels()
                                      : LaunchedShape(configuration).kernels_of_plan(problem);
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    const Layout where = layout(configuration, problem, device);
    Plan plan;
    plan.samples = samples;
    plan.kernels = kernels(configuration, problem);
    plan.buffers = {{"centres", kWord * where.antecedents(), Role::parameter},
                    {"widths", kWord * where.antecedents(), Role::parameter},
                    {"consequents", kWord * where.consequents(), Role::parameter},
                    {"progress", sizeof(Progress), Role::state},
                    {"control", sizeof(Control), Role::input},
                    {"rows", kWord * samples * where.stride, Role::input},
                    {"targets", kWord * samples * where.target_stride, Role::input},
                    {"order", kWord * samples, Role::input}};
    if (is_resident(configuration)) {
      ResidentShape(configuration, problem).write(plan, where, samples);
    } else {
      LaunchedShape(configuration).write(plan, where, problem, samples);
    }
    return plan;
  }
};

}  // namespace

const Mapping& cuda_train_mapping() {
  static const TrainMapping mapping;
  return mapping;
}

}  // namespace heddle::sonfin
