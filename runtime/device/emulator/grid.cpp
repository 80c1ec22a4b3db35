#include "heddle/runtime/device/emulator/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace heddle::emulator {
namespace {

constexpr std::size_t kPieceGap = 256;  // bytes between two pieces of shared memory; touching them is a fault
constexpr std::size_t kPieces = 64;     // largest number of pieces in one block
constexpr std::size_t kDeliveryDelay = 8;
// When all threads poll and nothing arrives, they are woken this many times before they count as a deadlock. A thread
// that polls one packet again has not always polled all packets that it waits for: it may poll one packet in place of
// several missing ones.
constexpr std::size_t kMostLooks = 20;

Index3 split(std::uint32_t number, const Extent& size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

std::uint32_t count(const Extent& size) { return size.x * size.y * size.z; }

Index3 index3(const Extent& size) { return {size.x, size.y, size.z}; }

std::string text(const Line& line) { return fmt::format("{}:{}", line.file, line.line); }

}  // namespace

bool same(const Line& a, const Line& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

thread_local Grid* Grid::running_ = nullptr;

std::size_t Order::draw(std::size_t count) {
  if (state_ == 0 || count <= 1) return 0;
  // xorshift64*, Vigna.
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return static_cast<std::size_t>((state_ * 0x2545f4914f6cdd1dULL >> 33) % count);
}

Grid::Grid(Machine& machine, const GridLaunch& launch, std::uint64_t seed)
    : machine_(machine),
      launch_(launch),
      order_(seed),
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
      const bool stuck = ready_begin_ == ready_.size();
      const bool late = stuck || idle_looks_ > 4 * unfinished_ + 64;
      if (!deliveries_.empty() && (late || order_.draw(kDeliveryDelay) == kDeliveryDelay - 1)) deliver_one();
      if (ready_begin_ == ready_.size()) {
        if (!deliveries_.empty()) continue;
        if (pollers_.empty() || ++fruitless_ > kMostLooks) throw deadlock();
        for (Thread* poller : std::exchange(pollers_, {})) ready(*poller);
      }
      if (deliveries_.empty() && idle_looks_ > 64 * unfinished_ + 10000) throw deadlock();
      thread_ = &next();
      const bool ended = thread_->fibre->resume();
      Thread& thread = *std::exchange(thread_, nullptr);
      if (finding_) break;
      if (ended) exit_thread(thread);
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
      ready(thread);
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
    grid.not_awaited(grid.thread(), "exits", nullptr);
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
  if (block.arrived > 0) throw abandoned(block.line, "block");
  if (cluster.arrived > 0) throw abandoned(cluster.line, "cluster");
  block.warps[thread.index / kWarpSize].exited |= 1U << (thread.index % kWarpSize);
  machine_.fibres.give_back(std::move(thread.fibre), true);
  ++block.exited;
  ++cluster.exited;
  --unfinished_;
  progress();
  if (cluster.exited == block_threads_ * cluster.blocks.size()) {
    end(cluster);
    begin_clusters();
  }
}

void Grid::ready(Thread& thread) {
  thread.wait = Wait::nothing;
  ready_.push_back(&thread);
}

Thread& Grid::next() {
  const std::size_t waiting = ready_.size() - ready_begin_;
  std::swap(ready_[ready_begin_], ready_[ready_begin_ + order_.draw(waiting)]);
  Thread& thread = *ready_[ready_begin_++];
  if (ready_begin_ > 1024 && ready_begin_ > waiting) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready_begin_));
    ready_begin_ = 0;
  }
  return thread;
}

void Grid::suspend(Wait wait, const Line& line) {
  Thread& thread = *thread_;
  thread.wait = wait;
  thread.line = line;
  thread.fibre->suspend();
}

void Grid::yield() {
  ready(*thread_);
  thread_->fibre->suspend();
}

void Grid::stop(Status status, std::string what, const void* at) {
  stop(Finding{.status = status, .what = std::move(what), .at = reinterpret_cast<std::uintptr_t>(at)});
}

void Grid::stop(Finding finding) {
  if (thread_ != nullptr) finding.place = thread_->place;
  throw finding;
}

void Grid::keep(Finding finding) { finding_ = std::move(finding); }

void Grid::abandon() {
  thread_->fibre->suspend();
  std::abort();  // this fibre is never resumed
}

Finding Grid::deadlock() const {
  // "threads 0 to 31 of block (1, 0, 0) wait at a barrier, train.cuh:80"
  std::string waits;
  std::size_t groups = 0;
  for (const auto& cluster : alive_) {
    for (const auto& block : cluster->blocks) {
      for (std::size_t i = 0; i < block->threads.size();) {
        const Thread& first = block->threads[i];
        std::size_t last = i;
        while (last + 1 < block->threads.size() && block->threads[last + 1].wait == first.wait &&
               block->threads[last + 1].line.line == first.line.line) {
          ++last;
        }
        static constexpr std::array<const char*, 6> kWaits{"poll",
                                                           "wait at a barrier",
                                                           "wait for lanes of their warp",
                                                           "wait at a barrier of the cluster",
                                                           "wait for messages",
                                                           "poll a packet"};
        const bool exited = !first.fibre;
        if (++groups <= 8 && !exited) {
          waits += fmt::format("{}threads {} to {} of block {} {}{}", waits.empty() ? "" : "; ", i, last,
                               text(first.place.block), kWaits[static_cast<std::size_t>(first.wait)],
                               first.line.file == nullptr ? "" : " at " + text(first.line));
        }
        i = last + 1;
      }
    }
  }
  if (groups > 8) waits += "; and so on";
  return {.status = Status::hang, .what = "deadlock, nobody makes progress: " + waits};
}

Index3 Grid::block_index(std::uint32_t number) const { return split(number, launch_.shape->grid); }
Index3 Grid::thread_index(unsigned index) const { return split(index, launch_.shape->block); }

std::size_t Grid::shared_span() const {
  return static_cast<std::size_t>(launch_.shape->shared_bytes) + kPieces * kPieceGap;
}

void* Grid::shared_piece(int piece, int offset, int count, const void* at) {
  Block& block = *thread_->block;
  const auto known = static_cast<std::size_t>(piece);
  if (known < block.pieces.size()) {
    const Piece& there = block.pieces[known];
    if (there.offset != offset || there.count != count) {
      stop(Status::wrong_result,
           fmt::format(
               "piece {} of shared memory is {} words here and {} words elsewhere in the block: every thread has "
               "to take the same pieces in the same order",
               piece, count, there.count),
           at);
    }
    return there.address;
  }
  const std::int64_t bytes = launch_.shape->shared_bytes;
  if (count < 0 || (static_cast<std::int64_t>(offset) + count) * 4 > bytes || known >= kPieces) {
    stop(Status::illegal_access,
         fmt::format("takes words {} to {} of shared memory, and the launch has {} bytes", offset, offset + count,
                     bytes),
         at);
  }
  std::byte* address = block.shared + static_cast<std::size_t>(offset) * 4 + known * kPieceGap;
  machine_.space.open(address, static_cast<std::size_t>(count) * 4, Cell::kShared);
  block.pieces.push_back({offset, count, address});
  return address;
}

int Grid::barrier(Vote vote, int predicate, const Line& line) {
  Thread& thread = *thread_;
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
    suspend(Wait::barrier, line);
    return static_cast<int>(thread.result);
  }
  meet(block);
  yield();
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
    if (&each != thread_) ready(each);
  }
  progress();
}

void Grid::cluster_barrier(const Line& line) {
  Thread& thread = *thread_;
  Cluster& cluster = *thread.block->cluster;
  not_awaited(thread, "comes to a barrier of the cluster", line.at);
  if (cluster.exited > 0) {
    stop(Status::hang,
         fmt::format("comes to a barrier that {} threads of the cluster never reached: they exited", cluster.exited),
         line.at);
  }
  if (cluster.arrived == 0) {
    cluster.line = line;
  } else if (!same(cluster.line, line)) {
    stop(Status::hang,
         fmt::format("comes to a barrier of the cluster while others wait at another one, {}", text(cluster.line)),
         line.at);
  }
  if (++cluster.arrived < block_threads_ * cluster.blocks.size()) {
    suspend(Wait::cluster, line);
    return;
  }
  meet(cluster);
  yield();
}

void Grid::meet(Cluster& cluster) {
  cluster.arrived = 0;
  Known foreign;
  auto here = std::make_shared<Knowledge>();
  for (const auto& block : cluster.blocks) {
    for (const Thread& each : block->threads) foreign = joined(foreign, each.foreign);
    here->learn_block(block->number, machine_.segments);
  }
  foreign.all = joined(foreign.all, here);
  for (const auto& block : cluster.blocks) {
    block->met = machine_.segments;
    for (Thread& each : block->threads) {
      each.segment = 0;
      each.synced = false;
      each.foreign = foreign;
      if (&each != thread_) ready(each);
    }
  }
  progress();
}

void Grid::let_next_launch_start() {
  if (launch_.shape->programmatic && thread_->ordered_before < first_segment_) let_early_ = true;
}

void Grid::wait_for_previous_launch() {
  any_waited_ = true;
  thread_->ordered_before = first_segment_;
  thread_->read_sets_before = first_read_set_;
}

}  // namespace heddle::emulator
