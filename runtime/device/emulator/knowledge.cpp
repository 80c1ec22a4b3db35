#include "heddle/runtime/device/emulator/knowledge.hpp"

#include <algorithm>

namespace heddle::emulator {
namespace {

bool before(const Times::value_type& a, std::uint32_t number) { return a.first < number; }

void raise(Times& known, std::uint32_t number, Segment time) {
  const auto place = std::lower_bound(known.begin(), known.end(), number, before);
  if (place == known.end() || place->first != number) {
    known.insert(place, {number, time});
  } else {
    place->second = std::max(place->second, time);
  }
}

bool reaches(const Times& known, std::uint32_t number, Segment time) {
  const auto found = std::lower_bound(known.begin(), known.end(), number, before);
  return found != known.end() && found->first == number && time <= found->second;
}

Times merged(const Times& a, const Times& b) {
  Times both;
  both.reserve(a.size() + b.size());
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      both.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      both.push_back(*j++);
    } else {
      both.emplace_back(i->first, std::max(i->second, j->second));
      ++i, ++j;
    }
  }
  return both;
}

}  // namespace

void Knowledge::learn_block(std::uint32_t block, Segment time) { raise(blocks, block, time); }
void Knowledge::learn_thread(ThreadNumber thread, Segment time) { raise(threads, thread, time); }

void Knowledge::learn(const Knowledge& other) {
  blocks = merged(blocks, other.blocks);
  threads = merged(threads, other.threads);
}

void Knowledge::forget_known(std::uint32_t block_threads) {
  std::erase_if(threads, [&](const Times::value_type& thread) {
    return (thread.first & kMessage) == 0 && knows_block(thread.first / block_threads, thread.second);
  });
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
