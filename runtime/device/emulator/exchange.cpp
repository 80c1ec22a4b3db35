// Exchange between blocks: packets in global memory, and messages into the shared memory of a cluster's blocks. Both
// are seen late, each on its own, in an order that the seed decides.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "heddle/runtime/device/emulator/grid.hpp"
#include "heddle/runtime/device/emulator/viewer.hpp"

namespace heddle::emulator {
namespace {

constexpr std::size_t kMailboxBytes = 8;

void require_alignment(Grid& grid, const void* address, unsigned bytes, const void* at) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    grid.stop(Status::illegal_access, fmt::format("the address of a packet is no multiple of {}", bytes), at);
  }
}

}  // namespace

void Grid::post(void* to, const Quad& value, unsigned bytes, const void* at) {
  require_alignment(*this, to, bytes, at);
  access(to, bytes, kWrite | kAtomic | kLater, at);
  deliveries_.push_back({.to = static_cast<std::byte*>(to),
                         .value = value,
                         .bytes = bytes,
                         .sender = current_thread().number,
                         .known = {{}, all_known_to(current_thread()).reads},
                         .at = at});
  current_thread().segment = 0;
  schedule_.progress();
  schedule_.yield();
}

Quad Grid::look(const void* from, unsigned bytes, const Line& line) {
  require_alignment(*this, from, bytes, line.at);
  Thread& thread = current_thread();
  thread.line = line;
  schedule_.looked();
  // A thread that polls a packet again has polled everything that it waits for since the last time. Packets that it
  // polled before that are forgotten.
  const auto last = std::ranges::find(thread.polls, from, &Thread::Poll::packet);
  const bool again = last != thread.polls.end();
  if (again) thread.polls.erase(thread.polls.begin(), last);
  const auto unchanged = [&](const Thread::Poll& poll) { return packets_[poll.packet].changes == poll.changes; };
  if (again && std::ranges::all_of(thread.polls, unchanged)) {
    schedule_.poll(line);
  } else {
    schedule_.yield();
  }
  Quad value{};
  // A thread sees its own stores at once.
  const auto own = std::find_if(deliveries_.rbegin(), deliveries_.rend(), [&](const Delivery& delivery) {
    return delivery.to == from && delivery.sender == thread.number;
  });
  if (own != deliveries_.rend()) {
    value = own->value;
  } else {
    access(from, bytes, kRead | kAtomic, line.at);
    std::memcpy(&value, from, bytes);
    learn(thread, {}, packets_[from].reads);
  }
  std::erase_if(thread.polls, [&](const Thread::Poll& poll) { return poll.packet == from; });
  thread.polls.push_back({from, packets_[from].changes});
  return value;
}

bool Grid::deliver_one() {
  if (deliveries_.empty()) return false;
  // Deliveries to one place arrive in their order.
  const std::byte* to = deliveries_[order_.draw(deliveries_.size())].to;
  const auto first =
      std::find_if(deliveries_.begin(), deliveries_.end(), [to](const Delivery& each) { return each.to == to; });
  const Delivery delivery = std::move(*first);
  deliveries_.erase(first);
  deliver(delivery);
  schedule_.progress();
  return true;
}

void Grid::deliver(const Delivery& delivery) {
  if (delivery.block == nullptr) {
    std::memcpy(delivery.to, &delivery.value, delivery.bytes);
    machine_.space.mark_written(delivery.to, delivery.bytes, true);
    Visible& packet = packets_[delivery.to];
    ++packet.changes;
    packet.reads = delivery.known.reads;
    schedule_.wake_pollers(delivery.to);
    return;
  }
  Block& block = *delivery.block;
  const unsigned sender = delivery.sender & ~kMessage;
  const auto place = [&] {
    return Place{thread_index(sender % block_threads_), block_index(sender / block_threads_), {}, {}};
  };
  if (block.exited == block_threads_) {
    throw Finding{.status = Status::illegal_access,
                  .what = fmt::format("its message reaches block {}, which has ended", text(block_index(block.number))),
                  .place = place(),
                  .at = reinterpret_cast<std::uintptr_t>(delivery.at)};
  }
  try {
    check(delivery.to, sizeof(Quad), kWrite, delivery.at,
          {.thread = nullptr,
           .number = delivery.sender,
           .segment = delivery.segment,
           .ordered_before = first_segment_,
           .read_sets_before = first_read_set_,
           .foreign = &delivery.known});
  } catch (Finding& finding) {
    finding.what = "its message " + finding.what;
    finding.place = place();
    throw;
  }
  std::memcpy(delivery.to, &delivery.value, sizeof(Quad));
  Mailbox& mailbox = block.mailboxes.at(delivery.mailbox);
  mailbox.missing -= static_cast<std::int64_t>(sizeof(Quad));
  mailbox.arriving = joined(mailbox.arriving, delivery.known);
  complete_round(block, mailbox);
}

/// A mailbox's round is over when its bytes were named and have arrived; PTX ISA, "mbarrier".
void Grid::complete_round(Block& block, Mailbox& mailbox) {
  if (!mailbox.expecting || mailbox.missing != 0) return;
  ++mailbox.completed;
  mailbox.expecting = false;
  mailbox.brought = joined(mailbox.brought, std::exchange(mailbox.arriving, {}));
  for (Thread& thread : block.threads) {
    if (thread.wait == Wait::mailbox) schedule_.ready(thread);
  }
}

std::ptrdiff_t Grid::shared_offset(const void* address, std::size_t alignment, const char* what, const void* at) {
  const auto offset = static_cast<const std::byte*>(address) - current_thread().block->shared;
  if (static_cast<std::size_t>(offset) >= shared_span()) {
    stop(Status::illegal_access, fmt::format("the address of {} is not in the block's shared memory", what), at);
  }
  if (static_cast<std::size_t>(offset) % alignment != 0) {
    stop(Status::illegal_access, fmt::format("the address of {} is no multiple of {}", what, alignment), at);
  }
  return offset;
}

Mailbox& Grid::opened(Block& block, std::ptrdiff_t offset, const void* at) {
  const auto found = block.mailboxes.find(offset);
  if (found == block.mailboxes.end()) {
    stop(Status::illegal_access, fmt::format("the mailbox of block {} is not open", text(block_index(block.number))),
         at);
  }
  check(block.shared + offset, kMailboxBytes, kRead | kWrite | kAtomic, at, viewer_of(current_thread()));
  return found->second;
}

void Grid::mailbox_open(void* box, const void* at) {
  const std::ptrdiff_t offset = shared_offset(box, kMailboxBytes, "a mailbox", at);
  access(box, kMailboxBytes, kWrite, at);
  current_thread().block->mailboxes[offset] = {};
}

void Grid::mailbox_expect(void* box, int bytes, const void* at) {
  Block& block = *current_thread().block;
  Mailbox& mailbox = opened(block, shared_offset(box, kMailboxBytes, "a mailbox", at), at);
  if (mailbox.expecting) stop(Status::wrong_result, "expects bytes twice in one round of a mailbox", at);
  mailbox.expecting = true;
  mailbox.missing += bytes;
  complete_round(block, mailbox);
  schedule_.yield();
}

void Grid::mailbox_wait(void* box, int round, const Line& line) {
  Thread& thread = current_thread();
  Mailbox& mailbox = opened(*thread.block, shared_offset(box, kMailboxBytes, "a mailbox", line.at), line.at);
  if (mailbox.completed < round) {
    stop(Status::wrong_result,
         fmt::format("waits for round {} of a mailbox before round {} is over: a GPU sees the parity of rounds alone",
                     round, round - 1),
         line.at);
  }
  while (mailbox.completed <= round) schedule_.suspend(Wait::mailbox, line);
  if (mailbox.completed > round + 1) {
    stop(Status::hang,
         fmt::format("waits for round {} of a mailbox, and round {} is over too: a GPU sees the parity of rounds alone",
                     round, mailbox.completed - 1),
         line.at);
  }
  learn(thread, mailbox.brought.all, mailbox.brought.reads);
  thread.segment = 0;
}

/// The current thread's message sets out, with what the thread knows now.
void Grid::send(Delivery delivery) {
  Thread& thread = current_thread();
  delivery.sender = thread.number | kMessage;
  delivery.segment = new_segment(delivery.sender);
  delivery.known = all_known_to(thread);
  auto itself = std::make_shared<Knowledge>();
  itself->learn_thread(delivery.sender, delivery.segment);
  delivery.known.all = joined(delivery.known.all, itself);
  thread.segment = 0;  // what comes later does not travel with it
  deliveries_.push_back(std::move(delivery));
}

Block& Grid::of_cluster(int rank, const char* does, const void* at) {
  Cluster& cluster = *current_thread().block->cluster;
  if (rank < 0 || static_cast<std::size_t>(rank) >= cluster.blocks.size()) {
    stop(Status::illegal_access, fmt::format("{} block {} of a cluster of {}", does, rank, cluster.blocks.size()), at);
  }
  return *cluster.blocks[static_cast<std::size_t>(rank)];
}

Quad Grid::cluster_load(int rank, const void* from, const void* at) {
  const std::byte* const address =
      of_cluster(rank, "loads from", at).shared + shared_offset(from, sizeof(Quad), "what is loaded", at);
  check(address, sizeof(Quad), kRead, at, viewer_of(current_thread()));
  Quad value{};
  std::memcpy(&value, address, sizeof value);
  return value;
}

void Grid::mailbox_send(void* box, int rank, void* to, const Quad& value, const void* at) {
  Block& block = of_cluster(rank, "sends to", at);
  // A GPU takes the instruction for an illegal one there.
  if (block.cluster->blocks.size() < 2) {
    stop(Status::illegal_access, "sends a message where no cluster has two blocks", at);
  }
  bring(block, box, to, value, at);
}

/// A part of a copy from global memory to the thread's own block.
void Grid::mailbox_fetch(void* box, void* to, const Quad& value, const void* at) {
  bring(*current_thread().block, box, to, value, at);
}

void Grid::bring(Block& block, void* box, void* to, const Quad& value, const void* at) {
  const std::ptrdiff_t offset = shared_offset(box, kMailboxBytes, "a mailbox", at);
  const std::ptrdiff_t target = shared_offset(to, sizeof(Quad), "a message", at);
  static_cast<void>(opened(block, offset, at));
  // In a function of its own, since a fibre that is not resumed frees nothing.
  send({.to = block.shared + target, .value = value, .block = &block, .mailbox = offset, .at = at});
  schedule_.progress();
  schedule_.yield();
}

}  // namespace heddle::emulator
