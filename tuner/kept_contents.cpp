#include "heddle/tuner/kept_contents.hpp"

#include <algorithm>
#include <utility>

namespace heddle {

const KeptContents::Buffers* KeptContents::find(const Problem& problem) const {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.problem == problem; });
  return found == kept_.end() ? nullptr : &found->buffers;
}

void KeptContents::keep(const Problem& problem, const ViewedImage& contents) {
  Kept fresh{.problem = problem, .buffers = {}, .bytes = 0};
  for (const auto& [name, bytes] : contents) fresh.bytes += static_cast<std::int64_t>(bytes.size());
  if (fresh.bytes > most_bytes_) return;
  while (!kept_.empty() && bytes_ + fresh.bytes > most_bytes_) {
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
  try {
    for (const auto& [name, bytes] : contents) {
      const auto memory = device_.allocate(static_cast<std::int64_t>(bytes.size()));
      memory->write(bytes);
      fresh.buffers.emplace(name, memory);
    }
  } catch (const DeviceFailure&) {  // no room beside the buffers of what is measured
    return;
  }
  bytes_ += fresh.bytes;
  kept_.push_back(std::move(fresh));
}

void KeptContents::clear() {
  kept_.clear();
  bytes_ = 0;
}

}  // namespace heddle
