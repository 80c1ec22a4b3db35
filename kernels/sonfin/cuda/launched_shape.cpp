#include "heddle/kernels/sonfin/cuda/launched_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/cuda/plan_writer.hpp"

namespace heddle::sonfin {

namespace {

constexpr std::int64_t kDecisionBytes = 16;  // Decision in tile.cuh
// Rules that a thread of `combine` takes at a time: their accesses are under way together, and live in its registers.
constexpr std::int64_t kMostAtOnce = 4;

void write_stage(PlanWriter& writer, const Layout& where, std::int64_t samples) {
  writer.launch(0, samples, where.stride >= 256 ? 256 : 64, 0,
                {writer.at("rows"), writer.at("targets"), writer.at("order"), writer.at("control"),
                 writer.at("progress"), writer.at("staged_rows"), writer.at("staged_targets"), writer.at("steps"),
                 int32(where.stride), int32(where.target_stride)});
}

}  // namespace

Tiling::Tiling(const Configuration& c)
    : block(c.number("block_size")), lanes(c.number("threads_per_rule")), vector(c.number("vector")) {
  const std::int64_t count = c.number("coarsen_count");
  if (count > 1) (c.word("coarsening") == "dims" ? inputs : rules) = count;
}

std::int64_t Tiling::blocks(std::int64_t total_rules) const { return ceil_div(total_rules, rules_per_block()); }

LaunchedShape::LaunchedShape(const Configuration& c)
    : Tiling(c),
      kernels(c.number("kernels")),
      combine(c.has("combine_size") ? c.number("combine_size") : 0),
      tree(c.has("reduction") && c.word("reduction") == "tree"),
      graph(c.word("scheme") == "graph"),
      overlap(c.has("launch") && c.word("launch") == "overlapped") {}

std::int64_t LaunchedShape::shared_bytes(const Problem& p) const {
  return kernels == 1 ? step_bytes(p) : std::max(sweep_bytes(), combine_bytes(p));
}

std::int64_t LaunchedShape::reduce_words() const {
  if (tree) return block;
  return lanes > kWarp ? rules * (block / kWarp) : 0;
}

std::int64_t LaunchedShape::record_words(const Problem& p) const {
  return (4 + p.at("outputs")) * padded(blocks(p.at("rules")));
}

std::int64_t LaunchedShape::sweep_bytes() const { return kWord * (rules_per_block() + reduce_words()); }

std::int64_t LaunchedShape::step_bytes(const Problem& p) const {
  const std::int64_t outputs = p.at("outputs");
  const std::int64_t gradients = block / std::min(lanes, kWarp) * rules;
  return kWord *
         (record_words(p) + rules_per_block() * (2 * (outputs | 1) + 2) + gradients + 3 * outputs + 2 * reduce_words());
}

std::int64_t LaunchedShape::combine_bytes(const Problem& p) const {
  const std::int64_t outputs = p.at("outputs");
  return kWord * (2 * outputs + outputs * combine_parts(p) + 3 * (combine / kWarp));
}

std::int64_t LaunchedShape::combine_parts(const Problem& p) const {
  const std::int64_t outputs = p.at("outputs"), warps = combine / kWarp;
  return outputs < warps ? warps / outputs : 1;
}

Kernels LaunchedShape::kernels_of_plan(const Problem& p) const {
  if (kernels == 1) {
    return {"heddle::sonfin::stage_rows",
            fmt::format("heddle::sonfin::step<{}, {}, {}, {}, {}>", block, lanes, inputs, rules, vector)};
  }
  // No more than a thread has where so many share the rules: further ones would cost instructions and bring nothing.
  const auto at_once = [&](std::int64_t threads) { return std::min(kMostAtOnce, ceil_div(p.at("rules"), threads)); };
  return {
      "heddle::sonfin::stage_rows",
      fmt::format("heddle::sonfin::sweep<{}, {}, {}, {}, {}, {}>", block, lanes, inputs, rules, vector, tree),
      fmt::format("heddle::sonfin::combine<{}, {}, {}>", combine, at_once(combine), at_once(combine_parts(p) * kWarp))};
}

void LaunchedShape::write(Plan& plan, const Layout& where, const Problem& problem, std::int64_t samples) const {
  plan.captured = graph;
  plan.buffers.push_back({"staged_rows", kWord * samples * where.stride, Role::scratch});
  plan.buffers.push_back({"staged_targets", kWord * samples * where.target_stride, Role::scratch});
  plan.buffers.push_back({"steps", 2 * static_cast<std::int64_t>(sizeof(Progress)), Role::scratch});
  plan.buffers.push_back({"log_firing", kWord * where.capacity, Role::scratch});
  if (kernels == 1) {
    write_fused(plan, where, problem, samples);
  } else {
    write_separate(plan, where, problem, samples);
  }
}

void LaunchedShape::write_fused(Plan& plan, const Layout& where, const Problem& problem, std::int64_t samples) const {
  const std::int64_t record_bytes = kWord * record_words(problem);
  plan.buffers.push_back({"records", 2 * record_bytes, Role::scratch});
  PlanWriter writer(plan);
  write_stage(writer, where, samples);
  for (std::int64_t sample = 0; sample <= samples; ++sample) {
    const auto slot = [&](std::int64_t index) {
      return writer.at("steps", index % 2 * static_cast<std::int64_t>(sizeof(Progress)));
    };
    const auto record = [&](std::int64_t index) { return writer.at("records", index % 2 * record_bytes); };
    // Sample 0 finds the staged progress in slot 0, where sample 1 reads it again; the last launch hands it back.
    const BufferArgument before = slot(sample == 0 ? 0 : sample - 1);
    const BufferArgument after = sample == samples ? writer.at("progress") : slot(sample);
    Launch& launch =
        writer.launch(1, blocks(where.capacity), block, step_bytes(problem),
                      {writer.at("centres"), writer.at("widths"), writer.at("consequents"), writer.at("control"),
                       before, after, writer.at("log_firing"), record(sample + 1), record(sample),
                       writer.at("staged_rows"), writer.at("staged_targets"), int32(sample), int32(samples),
                       int32(where.stride), int32(where.target_stride), int32(where.outputs), int32(where.capacity)});
    launch.programmatic = overlap && sample > 0;
  }
}

void LaunchedShape::write_separate(Plan& plan, const Layout& where, const Problem& problem,
                                   std::int64_t samples) const {
  plan.buffers.push_back({"gradient", kWord * (where.capacity + 1), Role::scratch});
  plan.buffers.push_back({"decision", kDecisionBytes, Role::scratch});
  PlanWriter writer(plan);
  write_stage(writer, where, samples);
  const auto sweep = [&](std::int64_t learned, std::int64_t fired) {
    writer
        .launch(1, blocks(where.capacity), block, sweep_bytes(),
                {writer.at("centres"), writer.at("widths"), writer.at("control"), writer.at("progress"),
                 writer.at("decision"), writer.at("gradient"), writer.at("log_firing"), writer.at("staged_rows"),
                 int32(learned), int32(fired), int32(where.stride), int32(where.capacity)})
        .programmatic = overlap;
  };
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    if (kernels == 3) {
      sweep(-1, sample);
    } else {
      sweep(sample - 1, sample);
    }
    writer
        .launch(2, 1, combine, combine_bytes(problem),
                {writer.at("consequents"), writer.at("centres"), writer.at("control"), writer.at("progress"),
                 writer.at("decision"), writer.at("gradient"), writer.at("log_firing"), writer.at("staged_rows"),
                 writer.at("staged_targets"), int32(sample), int32(where.stride), int32(where.target_stride),
                 int32(where.outputs), int32(where.capacity)})
        .programmatic = overlap;
    if (kernels == 3) sweep(sample, -1);
  }
  if (kernels == 2) sweep(samples - 1, -1);
}

}  // namespace heddle::sonfin
