#include "heddle/runtime/dispatch/decision_table.hpp"

#include <cstdint>
#include <utility>

namespace heddle {

namespace {

std::size_t hash(const Problem& problem) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (const Problem::Size& size : problem.sizes()) {
    h = (h ^ static_cast<std::uint64_t>(size.value)) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

}  // namespace

struct DecisionTable::Slots {
  explicit Slots(std::size_t capacity) : mask(capacity - 1), slot(capacity) {}

  [[nodiscard]] std::size_t place(const Problem& problem) const noexcept {
    std::size_t i = hash(problem) & mask;
    while (const Decision* decision = slot[i].load(std::memory_order_acquire)) {
      if (decision->problem == problem) break;
      i = (i + 1) & mask;
    }
    return i;
  }

  std::size_t mask;
  std::vector<std::atomic<const Decision*>> slot;
};

DecisionTable::DecisionTable() {
  generations_.push_back(std::make_unique<Slots>(64));
  slots_.store(generations_.back().get(), std::memory_order_release);
}

DecisionTable::~DecisionTable() = default;

const Candidate* DecisionTable::find(const Problem& problem) const noexcept {
  const Slots& slots = *slots_.load(std::memory_order_acquire);
  const Decision* decision = slots.slot[slots.place(problem)].load(std::memory_order_acquire);
  return decision == nullptr ? nullptr : &decision->candidate;
}

const Candidate& DecisionTable::insert(const Problem& problem, Candidate candidate) {
  const std::lock_guard lock(writing_);
  if (const Candidate* known = find(problem)) return *known;
  decisions_.push_back(std::make_unique<const Decision>(Decision{problem, std::move(candidate)}));
  if (2 * decisions_.size() > generations_.back()->slot.size()) {
    auto larger = std::make_unique<Slots>(2 * generations_.back()->slot.size());
    for (const auto& decision : decisions_) larger->slot[larger->place(decision->problem)] = decision.get();
    generations_.push_back(std::move(larger));
    slots_.store(generations_.back().get(), std::memory_order_release);
  } else {
    Slots& slots = *generations_.back();
    slots.slot[slots.place(problem)].store(decisions_.back().get(), std::memory_order_release);
  }
  return decisions_.back()->candidate;
}

}  // namespace heddle
