#include "heddle/runtime/device/emulator/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "heddle/runtime/device/emulator/deadlock.hpp"

namespace heddle::emulator {
namespace {

/// While threads are ready, every eighth turn on average begins with a delivery.
constexpr std::size_t kDeliveryDelay = 8;

Index3 split(std::uint32_t number, const Extent& size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

std::uint32_t count(const Extent& size) { return size.x * size.y * size.z; }

Index3 index3(const Extent& size) { return {size.x, size.y, size.z}; }

}  // namespace

thread_local Grid* Grid::running_ = nullptr;

Grid::Grid(Machine& machine, const GridLaunch& launch, std::uint64_t seed)
    : machine_(machine),
      launch_(launch),
      order_(seed),
      schedule_(order_),
      block_threads_(count(launch.shape->block)),
      blocks_(count(launch.shape->grid)),
      first_segment_(machine.segments + 1),
      first_read_set_(machine.read_sets) {
  const std::uint32_t clusters = blocks_ / launch.shape->cluster;
  waiting_clusters_.resize(clusters);
  for (std::uint32_t i = 0; i < clusters; ++i) waiting_clusters_[i] = clusters - 1 - i;  // taken from the back
  if (seed != 0) {
    for (std::uint32_t i = clusters; i > 1; --i) {
      std::swap(waiting_clusters_[i - 1], waiting_clusters_[order_.draw(i)]);
    }
  }
  places_ = launch.shape->resident ? clusters : 1 + order_.draw(3);
}

Grid::~Grid() {
  for (const auto& cluster : alive_) {
    for (const auto& block : cluster->blocks) {
      for (Thread& thread : block->threads) {
        if (thread.fibre) machine_.fibres.give_back(std::move(thread.fibre), false);
      }
      machine_.space.release(block->shared);
    }
  }
}

std::optional<Finding> Grid::run() {
  Grid* const outer = std::exchange(running_, this);
  try {
    begin_clusters();
    while (unfinished_ > 0) {
      const bool polls_only = schedule_.idle_looks() > 4 * unfinished_ + 64;
      if (polls_only) schedule_.catch_up();  // what is polled for may be up to those who are late
      const bool overdue = polls_only || !schedule_.any_ready();
      if (!deliveries_.empty() && (overdue || order_.draw(kDeliveryDelay) == kDeliveryDelay - 1)) deliver_one();
      if (!schedule_.any_ready()) {
        if (!deliveries_.empty()) continue;
        if (!schedule_.catch_up() && !schedule_.wake_pollers_in_vain()) throw deadlock(alive_);
      }
      if (deliveries_.empty() && schedule_.idle_looks() > 2 * kMostLooks * unfinished_ + 10000) throw deadlock(alive_);
      const Schedule::Turn turn = schedule_.run_next();
      if (finding_) break;
      if (turn.ended) exit_thread(*turn.thread);
    }
    while (!finding_ && !deliveries_.empty()) deliver_one();
  } catch (Finding& finding) {
    finding_ = std::move(finding);
  }
  running_ = outer;
  const Launch& shape = *launch_.shape;
  if (!finding_ && shape.programmatic && !any_waited_) {
    finding_ = Finding{.what =
                           "no thread of a programmatic launch waited for the previous one: what comes next is not "
                           "ordered behind it either"};
  }
  if (!shape.programmatic || !let_early_) {
    machine_.chain = first_segment_;
    machine_.read_set_chain = first_read_set_;
  }
  return std::move(finding_);
}

void Grid::begin_clusters() {
  while (!waiting_clusters_.empty() && alive_.size() < places_) {
    const std::uint32_t number = waiting_clusters_.back();
    waiting_clusters_.pop_back();
    begin(number);
  }
}

void Grid::begin(std::uint32_t cluster_number) {
  const Launch& shape = *launch_.shape;
  Cluster& cluster = *alive_.emplace_back(std::make_unique<Cluster>());
  for (unsigned rank = 0; rank < shape.cluster; ++rank) {
    Block& block = *cluster.blocks.emplace_back(std::make_unique<Block>());
    block.number = cluster_number * shape.cluster + rank;
    block.rank = static_cast<int>(rank);
    block.cluster = &cluster;
    block.shared = machine_.space.reserve(shared_span());
    block.warps.resize((block_threads_ + kWarpSize - 1) / kWarpSize);
    block.threads.resize(block_threads_);
    for (unsigned i = 0; i < block_threads_; ++i) {
      Thread& thread = block.threads[i];
      thread.block = &block;
      thread.index = i;
      thread.number = block.number * block_threads_ + i;
      thread.place = {thread_index(i), block_index(block.number), index3(shape.block), index3(shape.grid)};
      thread.ordered_before = shape.programmatic ? machine_.chain : first_segment_;
      thread.read_sets_before = shape.programmatic ? machine_.read_set_chain : first_read_set_;
      thread.fibre = machine_.fibres.take();
      thread.fibre->start(&run_thread, &thread);
      schedule_.ready(thread);
    }
  }
  unfinished_ += std::size_t{block_threads_} * shape.cluster;
}

void Grid::end(Cluster& cluster) {
  // A message that is still on its way to it is a fault.
  while (std::any_of(deliveries_.begin(), deliveries_.end(),
                     [&](const Delivery& d) { return d.block != nullptr && d.block->cluster == &cluster; })) {
    deliver_one();
  }
  for (const auto& block : cluster.blocks) machine_.space.release(block->shared);
  alive_.erase(std::find_if(alive_.begin(), alive_.end(), [&](const auto& each) { return each.get() == &cluster; }));
}

void Grid::run_thread(void* thread) {
  static_cast<void>(thread);
  Grid& grid = current();
  grid.launch_.kernel(grid.launch_.arguments);
  try {
    grid.not_awaited(grid.current_thread(), "exits", nullptr);
  } catch (Finding& finding) {
    grid.keep(std::move(finding));
  }
}

void Grid::exit_thread(Thread& thread) {
  Block& block = *thread.block;
  Cluster& cluster = *block.cluster;
  const auto abandoned = [&](const Line& line, const char* kind) {
    return Finding{
        .what = fmt::format("exits while other threads of the {} wait at a barrier that it never reached", kind),
        .place = thread.place,
        .at = 0,
        .line = {},
        .other = fmt::format("the barrier is {}", text(line))};
  };
  if (thread.arrival) {
    throw Finding{.status = Status::hang,
                  .what = "exits without a wait for the barrier of the cluster at which it has arrived",
                  .place = thread.place};
  }
  if (block.arrived > 0) throw abandoned(block.line, "block");
  if (cluster.arrived > 0) throw abandoned(cluster.line, "cluster");
  block.warps[thread.index / kWarpSize].exited |= 1U << (thread.index % kWarpSize);
  machine_.fibres.give_back(std::move(thread.fibre), true);
  ++block.exited;
  ++cluster.exited;
  --unfinished_;
  schedule_.progress();
  if (cluster.exited == block_threads_ * cluster.blocks.size()) {
    end(cluster);
    begin_clusters();
  }
}

void Grid::stop(Status status, std::string what, const void* at) {
  stop(Finding{.status = status, .what = std::move(what), .at = reinterpret_cast<std::uintptr_t>(at)});
}

void Grid::stop(Finding finding) {
  if (schedule_.current() != nullptr) finding.place = current_thread().place;
  throw finding;
}

void Grid::keep(Finding finding) { finding_ = std::move(finding); }

void Grid::abandon() {
  current_thread().fibre->suspend();
  std::abort();  // this fibre is never resumed
}

Index3 Grid::block_index(std::uint32_t number) const { return split(number, launch_.shape->grid); }
Index3 Grid::thread_index(unsigned index) const { return split(index, launch_.shape->block); }

void Grid::let_next_launch_start() {
  if (launch_.shape->programmatic && current_thread().ordered_before < first_segment_) let_early_ = true;
}

void Grid::wait_for_previous_launch() {
  any_waited_ = true;
  current_thread().ordered_before = first_segment_;
  current_thread().read_sets_before = first_read_set_;
}

}  // namespace heddle::emulator
