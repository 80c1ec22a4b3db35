#include "heddle/runtime/device/emulator/knowledge.hpp"

#include <algorithm>

namespace heddle::emulator {
namespace {

template <class Key>
void raise(std::map<Key, Segment>& known, Key key, Segment time) {
  Segment& value = known[key];
  value = std::max(value, time);
}

template <class Key>
bool reaches(const std::map<Key, Segment>& known, Key key, Segment time) {
  const auto found = known.find(key);
  return found != known.end() && time <= found->second;
}

}  // namespace

void Knowledge::learn_block(std::uint32_t block, Segment time) { raise(blocks, block, time); }
void Knowledge::learn_thread(ThreadNumber thread, Segment time) { raise(threads, thread, time); }

void Knowledge::learn(const Knowledge& other) {
  for (const auto& [block, time] : other.blocks) learn_block(block, time);
  for (const auto& [thread, time] : other.threads) learn_thread(thread, time);
}

bool Knowledge::knows_block(std::uint32_t block, Segment time) const { return reaches(blocks, block, time); }
bool Knowledge::knows_thread(ThreadNumber thread, Segment time) const { return reaches(threads, thread, time); }

SharedKnowledge joined(const SharedKnowledge& a, const SharedKnowledge& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto both = std::make_shared<Knowledge>(*a);
  both->learn(*b);
  return both;
}

Known joined(const Known& a, const Known& b) { return {joined(a.all, b.all), joined(a.reads, b.reads)}; }

void ReadSet::add(ThreadNumber first, unsigned lane, Segment segment) {
  const auto place = std::lower_bound(readers_.begin(), readers_.end(), first,
                                      [](const Readers& each, ThreadNumber wanted) { return each.first < wanted; });
  if (place == readers_.end() || place->first != first) {
    readers_.insert(place, {first, 1U << lane, segment});
    return;
  }
  place->lanes |= 1U << lane;
  place->last = std::max(place->last, segment);
}

}  // namespace heddle::emulator
