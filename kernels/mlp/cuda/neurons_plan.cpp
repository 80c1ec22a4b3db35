#include "heddle/kernels/mlp/cuda/neurons_plan.hpp"

#include <fmt/format.h>

#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

namespace heddle::mlp {

namespace {

constexpr std::int64_t kNeuronsWord = 4, kNeuronsLanes = 32;

}  // namespace

bool NeuronsLayout::takes(const Layers& layers) { return layers.count == 2 && layers.outputs() <= kOutputSlots; }

NeuronsLayout::NeuronsLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts,
                             std::int64_t of_threads)
    : shape{.inputs = layers.inputs(),
            .hidden = layers.sizes[1],
            .outputs = layers.outputs(),
            .blocks = blocks,
            .parts = parts,
            .rows = rows,
            .warps = of_threads / kNeuronsLanes},
      threads(of_threads),
      packets(shape.packets()),
      shared_bytes(kNeuronsWord * NeuronsPieces<std::int64_t>(shape).words()) {}

bool NeuronsLayout::all_have_some() const {
  return shape.neurons_each() <= kNeuronSlots && (shape.clusters() - 1) * shape.neurons_each() < shape.hidden &&
         (shape.parts - 1) * shape.inputs_each() < shape.inputs && shape.rows_each() <= kMostRowsOfLane &&
         shape.rows <= kMostRowsOfLane * (shape.warps - shape.upper_warps());
}

void add_neurons(Plan& plan, const NeuronsLayout& layout, const RunLength& length) {
  add_packets(plan, layout.packets);
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  const NeuronsShape<std::int64_t>& shape = layout.shape;
  plan.kernels.emplace_back(fmt::format("heddle::mlp::train_neurons<{}, {}, {}, {}, {}, {}, {}>", layout.threads,
                                        shape.blocks, shape.parts, shape.rows, shape.inputs, shape.hidden,
                                        shape.outputs));
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()) - 1,
       .grid = {.x = static_cast<unsigned>(shape.blocks)},
       .block = {.x = static_cast<unsigned>(layout.threads)},
       .shared_bytes = layout.shared_bytes,
       .resident = true,
       .cluster = static_cast<unsigned>(shape.parts),
       .arguments = {at("rows"), at("targets"), at("order"), at("parameters"), at("state"), at("gradient"),
                     at("control"), at("before"), at("progress"), at("errors"), at("packets"),
                     static_cast<std::int32_t>(length.steps), static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
