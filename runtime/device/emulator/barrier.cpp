// Barriers of blocks, of some warps of a block, and of clusters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle::emulator {

int Grid::barrier(Vote vote, int predicate, const Line& line) {
  Thread& thread = current_thread();
  Block& block = *thread.block;
  not_awaited(thread, "comes to a barrier", line.at);
  if (block.exited > 0) {
    stop(Status::hang,
         fmt::format("comes to a barrier that {} threads of the block never reached: they exited", block.exited),
         line.at);
  }
  if (block.arrived == 0) {
    block.line = line;
    block.vote = vote;
    block.votes = 0;
  } else if (!same(block.line, line)) {
    stop(Status::hang,
         fmt::format("comes to a barrier while other threads of its block wait at another one, {}", text(block.line)),
         line.at);
  }
  if (predicate != 0) ++block.votes;
  if (++block.arrived < block_threads_) {
    schedule_.suspend(Wait::barrier, line);
    return static_cast<int>(thread.result);
  }
  meet(block);
  schedule_.yield();
  return static_cast<int>(thread.result);
}

void Grid::meet(Block& block) {
  block.arrived = 0;
  const std::array<unsigned, 4> results{0, block.votes, block.votes == block_threads_ ? 1U : 0U,
                                        block.votes > 0 ? 1U : 0U};
  block.met = machine_.segments;
  Known foreign;
  Segment ordered_before = 0;
  std::uint32_t read_sets_before = 0;
  for (const Thread& each : block.threads) {
    foreign = joined(foreign, each.foreign);
    ordered_before = std::max(ordered_before, each.ordered_before);
    read_sets_before = std::max(read_sets_before, each.read_sets_before);
  }
  for (Thread& each : block.threads) {
    each.segment = 0;
    each.synced = false;
    each.foreign = foreign;
    each.ordered_before = ordered_before;
    each.read_sets_before = read_sets_before;
    each.result = results[static_cast<std::size_t>(block.vote)];
    if (&each != schedule_.current()) schedule_.ready(each);
  }
  schedule_.progress();
}

void Grid::partial_barrier(int number, int threads, const Line& line) {
  Thread& thread = current_thread();
  not_awaited(thread, "comes to a barrier of some warps", line.at);
  if (number < 1 || number > 15 || threads < 1 || threads % static_cast<int>(kWarpSize) != 0 ||
      threads > static_cast<int>(block_threads_)) {
    stop(Status::wrong_result,
         fmt::format("comes to barrier {} of {} threads: expected 1 to 15, and whole warps of the block", number,
                     threads),
         line.at);
  }
  PartialBarrier& barrier = thread.block->partial_barriers[number];
  if (barrier.arrived.empty()) {
    barrier.line = line;
    barrier.threads = threads;
  } else if (!same(barrier.line, line) || barrier.threads != threads) {
    stop(Status::hang,
         fmt::format("comes to barrier {} of {} threads while others wait at another one with this number, {}, of {}",
                     number, threads, text(barrier.line), barrier.threads),
         line.at);
  }
  barrier.arrived.push_back(&thread);
  if (barrier.arrived.size() < static_cast<std::size_t>(threads)) {
    schedule_.suspend(Wait::barrier, line);
    return;
  }
  meet(barrier);
  schedule_.yield();
}

/// Unlike those of a whole block, its threads are known one by one.
void Grid::meet(PartialBarrier& barrier) {
  Known known;
  for (const Thread* each : barrier.arrived) known = joined(known, all_known_to(*each));
  for (Thread* each : barrier.arrived) {
    each->segment = 0;
    each->foreign = known;
    if (each != schedule_.current()) schedule_.ready(*each);
  }
  barrier.arrived.clear();
  schedule_.progress();
}

void Grid::cluster_barrier(const Line& line) {
  Cluster& cluster = *current_thread().block->cluster;
  if (cluster.whole && !same(*cluster.whole, line)) {
    stop(Status::hang,
         fmt::format("comes to a barrier of the cluster while others wait at another one, {}", text(*cluster.whole)),
         line.at);
  }
  cluster.whole = line;
  cluster_arrive(HandsOn::all, line);
  cluster_wait(line);
}

void Grid::cluster_arrive(HandsOn hands_on, const Line& line) {
  Thread& thread = current_thread();
  Block& block = *thread.block;
  Cluster& cluster = *block.cluster;
  if (thread.arrival) {
    stop(Status::hang, "arrives at the barrier of the cluster twice, without a wait in between", line.at);
  }
  nobody_exited(cluster, line);
  with_whole_warp(thread, line);
  nobody_exited(cluster, line);
  if (cluster.arrived == 0) cluster.line = line;
  thread.arrival = {cluster.phase, hands_on};
  if (hands_on == HandsOn::all) {
    cluster.arriving = joined(cluster.arriving, all_known_to(thread));
  } else {
    auto here = std::make_shared<Knowledge>();
    here->learn_block(block.number, block.met);
    const SharedKnowledge told = joined(joined(thread.foreign.all, thread.foreign.reads), here);
    cluster.arriving.reads = joined(cluster.arriving.reads, told);
  }
  if (++cluster.arrived == block_threads_ * cluster.blocks.size()) meet(cluster);
}

/// The lanes of a warp arrive at once, and wait at once. That does not order what they wrote.
void Grid::with_whole_warp(const Thread& thread, const Line& line) {
  const unsigned lanes = std::min(kWarpSize, block_threads_ - thread.index / kWarpSize * kWarpSize);
  warp(WarpOperation::all, ~0U >> (kWarpSize - lanes), 1, 0, kWarpSize, line);
}

void Grid::nobody_exited(const Cluster& cluster, const Line& line) {
  if (cluster.exited == 0) return;
  stop(Status::hang,
       fmt::format("comes to a barrier that {} threads of the cluster never reached: they exited", cluster.exited),
       line.at);
}

void Grid::cluster_wait(const Line& line) {
  Thread& thread = current_thread();
  const Cluster& cluster = *thread.block->cluster;
  if (!thread.arrival) {
    stop(Status::hang, "waits at a barrier of the cluster at which it has not arrived", line.at);
  }
  with_whole_warp(thread, line);
  if (cluster.phase == thread.arrival->phase) {
    schedule_.suspend(Wait::cluster, line);
  } else {
    schedule_.yield();
  }
  thread.arrival.reset();
  learn(thread, cluster.met.all, cluster.met.reads);
}

/// All threads have arrived, and some may be further already.
void Grid::meet(Cluster& cluster) {
  Knowledge here;
  for (const auto& block : cluster.blocks) {
    Segment until = machine_.segments;  // when all of its threads had yet to arrive, or have done nothing since
    for (Thread& each : block->threads) {
      if (each.arrival->hands_on == HandsOn::reads) until = 0;
      if (each.arrival->next != 0) until = std::min(until, each.arrival->next - 1);
      if (each.wait == Wait::cluster) schedule_.ready(each);
    }
    here.learn_block(block->number, until);
  }
  const auto with_here = [&](const SharedKnowledge& arriving) {
    auto known = std::make_shared<Knowledge>(here);
    if (arriving) known->learn(*arriving);
    known->forget_known(block_threads_);
    return known;
  };
  cluster.met = {with_here(cluster.arriving.all), with_here(cluster.arriving.reads)};
  cluster.arriving = {};
  cluster.arrived = 0;
  cluster.whole.reset();
  ++cluster.phase;
  schedule_.progress();
}

}  // namespace heddle::emulator
