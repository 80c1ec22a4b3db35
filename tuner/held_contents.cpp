#include "heddle/tuner/held_contents.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace heddle {

namespace {

/// Read in pieces, since some buffers are large.
bool holds(const Memory& memory, std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> piece(std::min(kPiece, bytes.size()));
  for (std::size_t first = 0; first < bytes.size(); first += kPiece) {
    const std::span<std::byte> now(piece.data(), std::min(kPiece, bytes.size() - first));
    memory.read(now, static_cast<std::int64_t>(first));
    if (std::memcmp(now.data(), bytes.data() + first, now.size()) != 0) return false;
  }
  return true;
}

bool may_change(const Buffer& buffer) { return buffer.role == Role::parameter || buffer.role == Role::state; }

std::vector<std::byte> all_bytes(const Memory& memory) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(memory.bytes()));
  memory.read(bytes);
  return bytes;
}

}  // namespace

HeldContents HeldContents::copied(Device& device, Execution& execution, const BufferNames& names) {
  try {
    KeptContents::Buffers buffers;
    for (const std::string& name : names) {
      Memory& memory = execution.memory(name);
      const auto copy = device.allocate(memory.bytes());
      copy->copy(memory);
      buffers.emplace(name, copy);
    }
    return HeldContents(std::move(buffers));
  } catch (const DeviceFailure&) {  // no room; a device that is lost fails once more below
  }
  HostImage image;
  for (const std::string& name : names) image.emplace(name, all_bytes(execution.memory(name)));
  return HeldContents(SharedImage(std::move(image)));
}

void HeldContents::copy_again(Execution& execution) {
  if (const auto* const buffers = std::get_if<KeptContents::Buffers>(&held_)) {
    for (const auto& [name, memory] : *buffers) memory->copy(execution.memory(name));
    return;
  }
  HostImage image;
  for (const std::string& name : names()) image.emplace(name, all_bytes(execution.memory(name)));
  held_ = SharedImage(std::move(image));
}

void HeldContents::write(Execution& execution) const {
  if (const auto* const buffers = std::get_if<KeptContents::Buffers>(&held_)) {
    for (const auto& [name, memory] : *buffers) execution.memory(name).copy(*memory);
  } else {
    for (const auto& [name, bytes] : std::get<SharedImage>(held_).views()) {
      Memory& memory = execution.memory(name);
      if (std::ssize(bytes) < memory.bytes()) memory.fill(std::byte{0});
      memory.write(bytes);
    }
  }
}

void HeldContents::save(Execution& execution) const {
  if (std::holds_alternative<SharedImage>(held_)) execution.save();
}

void HeldContents::restore(Execution& execution, const BufferNames& unwritten) const {
  const auto* const buffers = std::get_if<KeptContents::Buffers>(&held_);
  if (buffers == nullptr) {
    execution.restore();
    return;
  }
  for (const Buffer& buffer : execution.plan().buffers) {
    if (!may_change(buffer) || std::ranges::find(unwritten, buffer.name) != unwritten.end()) continue;
    execution.memory(buffer.name).copy(*buffers->at(buffer.name));
  }
}

BufferNames HeldContents::large_and_unwritten(Device& device, Execution& execution) const {
  BufferNames names;
  if (std::holds_alternative<SharedImage>(held_)) return names;
  for (const Buffer& buffer : execution.plan().buffers) {
    if (!may_change(buffer) || buffer.bytes <= device.identity().cache_bytes) continue;
    if (same(device, execution, buffer.name)) names.push_back(buffer.name);
  }
  return names;
}

bool HeldContents::same(Device& device, Execution& execution, const std::string& name) const {
  Memory& now = execution.memory(name);
  if (const auto* const buffers = std::get_if<KeptContents::Buffers>(&held_)) {
    return device.same(now, *buffers->at(name));
  }
  return holds(now, std::get<SharedImage>(held_).views().at(name));
}

BufferNames HeldContents::names() const {
  BufferNames names;
  const auto add = [&names](const auto& contents) {
    for (const auto& [name, contents_of_it] : contents) names.push_back(name);
  };
  if (const auto* const buffers = std::get_if<KeptContents::Buffers>(&held_)) {
    add(*buffers);
  } else {
    add(std::get<SharedImage>(held_).views());
  }
  return names;
}

std::vector<std::byte> HeldContents::bytes(const std::string& name) const {
  if (const auto* const buffers = std::get_if<KeptContents::Buffers>(&held_)) return all_bytes(*buffers->at(name));
  const std::span<const std::byte> view = std::get<SharedImage>(held_).views().at(name);
  return {view.begin(), view.end()};
}

}  // namespace heddle
