#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/mapping.hpp"

namespace heddle::sonfin {

namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kWord = 4;            // bytes of a float, of an int32
constexpr std::int64_t kDecisionBytes = 16;  // Decision in tile.cuh

/// How the task matrix is laid over threads; names as in tile.cuh.
struct Tiling {
  std::int64_t block, lanes, inputs = 1, rules = 1, vector;

  explicit Tiling(const Configuration& c)
      : block(c.number("block_size")), lanes(c.number("threads_per_rule")), vector(c.number("vector")) {
    const std::int64_t count = c.number("coarsen_count");
    if (count > 1) (c.word("coarsening") == "dims" ? inputs : rules) = count;
  }

  std::int64_t rules_per_block() const { return block / lanes * rules; }
  std::int64_t span() const { return lanes * inputs * vector; }
  std::int64_t blocks(std::int64_t total_rules) const { return ceil_div(total_rules, rules_per_block()); }
};

/// What a whole configuration means in numbers.
struct Shape : Tiling {
  std::int64_t kernels, combine;
  bool tree, graph, overlap;

  explicit Shape(const Configuration& c)
      : Tiling(c),
        kernels(c.number("kernels")),
        combine(c.has("combine_size") ? c.number("combine_size") : 0),
        tree(c.has("reduction") && c.word("reduction") == "tree"),
        graph(c.word("scheme") == "graph"),
        overlap(c.has("launch") && c.word("launch") == "overlapped") {}

  std::int64_t reduce_words() const {
    if (tree) return block;
    return lanes > kWarp ? rules * (block / kWarp) : 0;
  }
  /// Words of one of the two sets of records of `step`.
  std::int64_t record_words(const Problem& p) const { return (4 + p.at("outputs")) * padded(blocks(p.at("rules"))); }
  // The next three add up what the kernels take() from their SharedMemory.
  std::int64_t sweep_bytes() const { return kWord * (rules_per_block() + reduce_words()); }
  std::int64_t step_bytes(const Problem& p) const {
    const std::int64_t outputs = p.at("outputs");
    const std::int64_t gradients = block / std::min(lanes, kWarp) * rules;
    return kWord * (record_words(p) + rules_per_block() * (2 * (outputs | 1) + 2) + gradients + 3 * outputs +
                    2 * reduce_words());
  }
  std::int64_t combine_bytes(const Problem& p) const {
    const std::int64_t outputs = p.at("outputs");
    const std::int64_t warps = combine / kWarp;
    const std::int64_t parts = outputs < warps ? warps / outputs : 1;
    return kWord * (2 * outputs + outputs * parts + 3 * warps);
  }
};

std::vector<Value> numbers(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }
std::vector<Value> words(std::initializer_list<const char*> values) {
  std::vector<Value> result;
  for (const char* value : values) result.emplace_back(std::string(value));
  return result;
}

std::vector<Parameter> parameters(const DeviceIdentity& device) {
  std::vector<Parameter> list{
      {.name = "coarsen_count",
       .values = numbers({1, 2, 4, 8}),
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
      {.name = "kernels", .values = numbers({1, 2, 3}), .meaning = "launches per sample", .active = {}},
      {.name = "scheme",
       .values = words({"graph", "stepwise"}),
       .meaning = "launches captured, or one by one",
       .active = {}},
      {.name = "reduction",
       .values = words({"shuffle", "tree"}),
       .meaning = "sums over a rule by shuffles, or by a tree in shared memory",
       .active = [](const Configuration& c) { return c.number("kernels") == 3; }},
      {.name = "combine_size",
       .values = numbers({256, 1024}),
       .meaning = "threads that combine the rules",
       .active = [](const Configuration& c) { return c.number("kernels") > 1; }}};
  if (device.compute_capability() >= 90) {
    list.push_back({.name = "launch",
                    .values = words({"ordered", "overlapped"}),
                    .meaning = "whether a launch is set up while the one before it runs",
                    .active = {}});
  }
  return list;
}

std::vector<Constraint> constraints() {
  using Identity = DeviceIdentity;
  return {
      {"threads_per_rule <= block_size", "threads_per_rule",
       [](const Configuration& c, const Problem&, const Identity&) {
         return c.number("threads_per_rule") <= c.number("block_size");
       }},
      {"at most 16 parameters of a kind in a thread's registers, 8 in blocks of 1024", "vector",
       [](const Configuration& c, const Problem&, const Identity&) {
         return c.number("coarsen_count") * c.number("vector") <= (c.number("block_size") == 1024 ? 8 : 16);
       }},
      {"coarsen_count <= dim, rules", "coarsening",
       [](const Configuration& c, const Problem& p, const Identity&) {
         const std::int64_t count = c.number("coarsen_count");
         return count == 1 || count <= p.at(c.word("coarsening") == "dims" ? "dim" : "rules");
       }},
      {"no more than half of a rule's threads without an input", "vector",
       [](const Configuration& c, const Problem& p, const Identity&) {
         return Tiling(c).span() <= std::max(2 * padded(p.at("dim")) - 1, kWarp);
       }},
      {"a row in at most 64 passes", "vector",
       [](const Configuration& c, const Problem& p, const Identity&) {
         return padded(p.at("dim")) <= 64 * Tiling(c).span();
       }},
      {"no more than half of a block without a rule", "vector",
       [](const Configuration& c, const Problem& p, const Identity&) {
         return c.number("block_size") == kWarp || Tiling(c).rules_per_block() < 2 * p.at("rules");
       }},
      {"a tree is the published mapping: separate launches, no coarsening", "reduction",
       [](const Configuration& c, const Problem&, const Identity&) {
         return !c.has("reduction") || c.word("reduction") == "shuffle" ||
                (c.word("scheme") == "stepwise" && c.number("coarsen_count") == 1 && c.number("vector") == 1);
       }},
      {"at most 1024 blocks whose sums every block combines", "kernels",
       [](const Configuration& c, const Problem& p, const Identity&) {
         return c.number("kernels") > 1 || Tiling(c).blocks(p.at("rules")) <= 1024;
       }},
      {"shared memory of a block", "combine_size",
       [](const Configuration& c, const Problem& p, const Identity& device) {
         const Shape shape(c);
         const std::int64_t bytes =
             shape.kernels == 1 ? shape.step_bytes(p) : std::max(shape.sweep_bytes(), shape.combine_bytes(p));
         return bytes <= device.local_bytes;
       }},
  };
}

/// Writes the launches of a plan; knows its buffers by name.
class Launches {
 public:
  explicit Launches(Plan& plan) : plan_(plan) {}
  BufferArgument at(std::string_view buffer, std::int64_t offset = 0) const { return {plan_.buffer(buffer), offset}; }
  void add(int kernel, std::int64_t blocks, std::int64_t threads, std::int64_t shared_bytes, bool programmatic,
           std::vector<Argument> arguments) {
    plan_.launches.push_back({.kernel = kernel,
                              .grid = {.x = static_cast<unsigned>(blocks)},
                              .block = {.x = static_cast<unsigned>(threads)},
                              .shared_bytes = shared_bytes,
                              .programmatic = programmatic,
                              .arguments = std::move(arguments)});
  }

 private:
  Plan& plan_;
};

std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }

class TrainMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/sonfin/cuda/train.cuh");
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override { return {device, parameters(device), constraints()}; }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    // One pack of four inputs a thread, up to two warps a rule: good everywhere, best nowhere. The rest is what fits.
    // Overlapped launches gain a tenth in most places and lose half in some: only for who has measured.
    const SearchSpace all = space(device);
    const std::int64_t stride = padded(problem.at("dim"));
    const std::int64_t wanted = std::clamp<std::int64_t>(power_of_two_below(stride / 4), 1, 64);
    for (const std::int64_t kernels : {1, 2}) {
      for (std::int64_t lanes = wanted; lanes <= 1024; lanes *= 2) {
        for (const std::int64_t block : {128, 64, 32, 256, 512, 1024}) {
          if (block < lanes) continue;
          const std::string configuration =
              fmt::format("coarsen_count=1 block_size={} threads_per_rule={} vector=4 kernels={} scheme=graph{}{}",
                          block, lanes, kernels, kernels > 1 ? " combine_size=1024" : "",
                          device.compute_capability() >= 90 ? " launch=ordered" : "");
          const Configuration candidate = all.parse(configuration);
          if (!all.violated(candidate, problem)) return candidate;
        }
      }
    }
    throw Error(ErrorKind::usage,
                fmt::format("{} is too large for the sonfin-train kernels on {}", problem.text(), device.name));
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
               "coarsen_count=1 block_size={0} threads_per_rule={0} vector=1 kernels=3 scheme=stepwise reduction=tree "
               "combine_size={1}{2}",
               threads, p.at("rules") > 256 ? 1024 : 256, launches ? " launch=ordered" : ""));
         }}};
  }

  Layout layout(const Configuration&, const Problem& problem, const DeviceIdentity&) const override {
    const std::int64_t rules = problem.at("rules");
    return {.capacity = rules,
            .dim = problem.at("dim"),
            .outputs = problem.at("outputs"),
            .stride = padded(problem.at("dim")),
            .target_stride = problem.at("outputs"),
            .antecedent_tile = 1,
            .consequent_tile = rules};
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    const Shape shape(configuration);
    const Layout where = layout(configuration, problem, device);
    Plan plan;
    plan.captured = shape.graph;
    plan.samples = samples;
    plan.buffers = shared_buffers(where, samples);
    plan.kernels.emplace_back("heddle::sonfin::stage_rows");
    if (shape.kernels == 1) {
      add_fused(plan, shape, where, problem, samples);
    } else {
      add_separate(plan, shape, where, problem, samples);
    }
    return plan;
  }

 private:
  static std::vector<Buffer> shared_buffers(const Layout& where, std::int64_t samples) {
    const auto progress = static_cast<std::int64_t>(sizeof(Progress));
    return {{"centres", kWord * where.antecedents(), Role::parameter},
            {"widths", kWord * where.antecedents(), Role::parameter},
            {"consequents", kWord * where.consequents(), Role::parameter},
            {"progress", progress, Role::state},
            {"control", sizeof(Control), Role::input},
            {"rows", kWord * samples * where.stride, Role::input},
            {"targets", kWord * samples * where.target_stride, Role::input},
            {"order", kWord * samples, Role::input},
            {"staged_rows", kWord * samples * where.stride, Role::scratch},
            {"staged_targets", kWord * samples * where.target_stride, Role::scratch},
            {"steps", 2 * progress, Role::scratch},
            {"log_firing", kWord * where.capacity, Role::scratch}};
  }

  static void add_stage(Launches& launches, const Layout& where, std::int64_t samples, BufferArgument first) {
    const std::int64_t threads = where.stride >= 256 ? 256 : 64;
    launches.add(0, samples, threads, 0, false,
                 {launches.at("rows"), launches.at("targets"), launches.at("order"), launches.at("control"),
                  launches.at("progress"), launches.at("staged_rows"), launches.at("staged_targets"), first,
                  int32(where.stride), int32(where.target_stride)});
  }

  static void add_fused(Plan& plan, const Shape& shape, const Layout& where, const Problem& problem,
                        std::int64_t samples) {
    const std::int64_t blocks = shape.blocks(where.capacity);
    const std::int64_t record_bytes = kWord * shape.record_words(problem);
    plan.kernels.push_back(fmt::format("heddle::sonfin::step<{}, {}, {}, {}, {}>", shape.block, shape.lanes,
                                       shape.inputs, shape.rules, shape.vector));
    plan.buffers.push_back({"records", 2 * record_bytes, Role::scratch});
    Launches launches(plan);
    add_stage(launches, where, samples, launches.at("steps"));
    for (std::int64_t sample = 0; sample <= samples; ++sample) {
      const auto slot = [&](std::int64_t index) {
        return launches.at("steps", index % 2 * static_cast<std::int64_t>(sizeof(Progress)));
      };
      const auto record = [&](std::int64_t index) { return launches.at("records", index % 2 * record_bytes); };
      // Sample 0 finds the staged progress in slot 0, where sample 1 reads it again; the last launch hands it back.
      const BufferArgument before = slot(sample == 0 ? 0 : sample - 1);
      const BufferArgument after = sample == samples ? launches.at("progress") : slot(sample);
      launches.add(1, blocks, shape.block, shape.step_bytes(problem), shape.overlap && sample > 0,
                   {launches.at("centres"), launches.at("widths"), launches.at("consequents"), launches.at("control"),
                    before, after, launches.at("log_firing"), record(sample + 1), record(sample),
                    launches.at("staged_rows"), launches.at("staged_targets"), int32(sample), int32(samples),
                    int32(where.stride), int32(where.target_stride), int32(where.outputs), int32(where.capacity)});
    }
  }

  static void add_separate(Plan& plan, const Shape& shape, const Layout& where, const Problem& problem,
                           std::int64_t samples) {
    const std::int64_t blocks = shape.blocks(where.capacity);
    plan.kernels.push_back(fmt::format("heddle::sonfin::sweep<{}, {}, {}, {}, {}, {}>", shape.block, shape.lanes,
                                       shape.inputs, shape.rules, shape.vector, shape.tree));
    plan.kernels.push_back(fmt::format("heddle::sonfin::combine<{}>", shape.combine));
    plan.buffers.push_back({"gradient", kWord * (where.capacity + 1), Role::scratch});
    plan.buffers.push_back({"decision", kDecisionBytes, Role::scratch});
    Launches launches(plan);
    add_stage(launches, where, samples, launches.at("steps"));
    const auto sweep = [&](std::int64_t learned, std::int64_t fired) {
      launches.add(
          1, blocks, shape.block, shape.sweep_bytes(), shape.overlap,
          {launches.at("centres"), launches.at("widths"), launches.at("control"), launches.at("progress"),
           launches.at("decision"), launches.at("gradient"), launches.at("log_firing"), launches.at("staged_rows"),
           int32(learned), int32(fired), int32(where.stride), int32(where.capacity)});
    };
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      if (shape.kernels == 3) {
        sweep(-1, sample);
      } else {
        sweep(sample - 1, sample);
      }
      launches.add(2, 1, shape.combine, shape.combine_bytes(problem), shape.overlap,
                   {launches.at("consequents"), launches.at("centres"), launches.at("control"), launches.at("progress"),
                    launches.at("decision"), launches.at("gradient"), launches.at("log_firing"),
                    launches.at("staged_rows"), launches.at("staged_targets"), int32(sample), int32(where.stride),
                    int32(where.target_stride), int32(where.outputs), int32(where.capacity)});
      if (shape.kernels == 3) sweep(sample, -1);
    }
    if (shape.kernels == 2) sweep(samples - 1, -1);
  }
};

}  // namespace

const Mapping& cuda_train_mapping() {
  static const TrainMapping mapping;
  return mapping;
}

}  // namespace heddle::sonfin
