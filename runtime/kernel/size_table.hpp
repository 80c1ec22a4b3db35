// What is known of each problem, by its sizes: found without a lock, added under one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "heddle/kernels/axis.hpp"

namespace heddle {

/// The sizes of a problem: a value for each axis of its family, in their order.
using Sizes = std::span<const AxisValue>;

/// An open-addressing hash table that only grows. Both functions may be called from several threads at once.
template <class Entry>
class SizeTable {
 public:
  SizeTable() {
    constexpr std::size_t kAtFirst = 64;
    generations_.push_back(std::make_unique<Slots>(kAtFirst));
    slots_.store(generations_.back().get(), std::memory_order_release);
  }

  /// The entry of these sizes, at the same address for good; null if there is none. Takes no lock.
  [[nodiscard]] Entry* find(Sizes sizes) const noexcept {
    Node* const node = slots_.load(std::memory_order_acquire)->at(sizes).load(std::memory_order_acquire);
    return node == nullptr ? nullptr : node->entry.get();
  }

  /// Adds the entry, unless there is one: the first stays. Returns the one that is there now.
  Entry& insert(Sizes sizes, std::unique_ptr<Entry> entry) {
    const std::lock_guard lock(writing_);
    if (Entry* const known = find(sizes)) return *known;
    nodes_.push_back(std::make_unique<Node>(Node{{sizes.begin(), sizes.end()}, std::move(entry)}));
    Slots* slots = generations_.back().get();
    if (2 * nodes_.size() > slots->slot.size()) {
      generations_.push_back(std::make_unique<Slots>(2 * slots->slot.size()));
      slots = generations_.back().get();
      for (const auto& node : nodes_) slots->at(node->sizes).store(node.get(), std::memory_order_relaxed);
      slots_.store(slots, std::memory_order_release);
    } else {
      slots->at(sizes).store(nodes_.back().get(), std::memory_order_release);
    }
    return *nodes_.back()->entry;
  }

 private:
  struct Node {
    std::vector<AxisValue> sizes;
    std::unique_ptr<Entry> entry;
  };

  static std::size_t hash(Sizes sizes) noexcept {
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    for (const AxisValue& size : sizes) {
      h = (h ^ static_cast<std::uint64_t>(size.value_or(-1))) * 0xff51afd7ed558ccdU;
      h ^= h >> 32U;
    }
    return static_cast<std::size_t>(h);
  }

  struct Slots {
    explicit Slots(std::size_t capacity) : slot(capacity) {}
    /// The slot of these sizes, or the free one where they belong.
    [[nodiscard]] std::atomic<Node*>& at(Sizes sizes) noexcept {
      for (std::size_t i = hash(sizes);; ++i) {
        std::atomic<Node*>& found = slot[i & (slot.size() - 1)];
        const Node* const node = found.load(std::memory_order_acquire);
        if (node == nullptr || std::equal(sizes.begin(), sizes.end(), node->sizes.begin(), node->sizes.end())) {
          return found;
        }
      }
    }
    std::vector<std::atomic<Node*>> slot;  ///< a power of two
  };

  std::atomic<Slots*> slots_;
  std::mutex writing_;
  // Slots that were outgrown stay, since a reader may still be in them; together they are smaller than the last.
  std::vector<std::unique_ptr<Slots>> generations_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace heddle
