#include "heddle/runtime/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#ifdef HEDDLE_WITH_CUDA
#include "heddle/runtime/device/cuda/cuda_device.hpp"
#endif

namespace heddle {
namespace {

#ifdef HEDDLE_WITH_CUDA
std::unique_ptr<Device> open_cuda_device(int ordinal, const Compiling& compiling) {
  return std::make_unique<CudaDevice>(ordinal, compiling);
}
#else
constexpr const char* kBuiltWithout =
    "built without the CUDA Toolkit: install it (its headers cuda.h and nvrtc.h) and build heddle again";

std::vector<DeviceListing> cuda_listings() { return {{"cuda", {}, kBuiltWithout}}; }

std::unique_ptr<Device> open_cuda_device(int, const Compiling&) { throw Error(ErrorKind::device, kBuiltWithout); }
#endif

bool usable(const DeviceListing& listing) { return listing.identity.has_value(); }

/// N of "kind:N"; `otherwise` if the label is the kind alone.
std::optional<int> number_of(std::string_view label, std::string_view kind, int otherwise) {
  if (label == kind) return otherwise;
  if (!label.starts_with(kind) || label.substr(kind.size(), 1) != ":") return {};
  label.remove_prefix(kind.size() + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
  if (error != std::errc() || end != label.data() + label.size() || number < 0) return {};
  return number;
}

}  // namespace

#ifndef HEDDLE_WITH_CUDA
void run_compiler(int) { throw Error(ErrorKind::device, kBuiltWithout); }
#endif

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> listings = cuda_listings();
  listings.push_back(cpu_listing());
  std::stable_partition(listings.begin(), listings.end(), usable);
  listings.push_back(emulator_listing());  // never the best
  return listings;
}

std::unique_ptr<Device> open_device(const std::string& label, const Compiling& compiling) {
  if (label == "cpu") return open_cpu_device({}, compiling);
  if (const auto ordinal = number_of(label, "cuda", 0)) return open_cuda_device(*ordinal, compiling);
  if (const auto capability = number_of(label, "emulator", EmulatorOptions{}.capability)) {
    return open_emulator({.capability = *capability}, compiling);
  }
  const std::vector<DeviceListing> listings = list_devices();
  if (label.empty() && usable(listings.front())) return open_device(listings.front().label, compiling);
  std::string labels;
  for (const DeviceListing& listing : listings)
    if (usable(listing)) labels += (labels.empty() ? "" : ", ") + listing.label;
  throw Error(ErrorKind::device, label.empty() ? "no usable device: " + listings.front().remark
                                               : fmt::format("unknown device {}; expected one of: {}", in_quotes(label),
                                                             labels.empty() ? "(none can be used)" : labels));
}

void Memory::copy(const Memory& from) {
  std::vector<std::byte> contents(static_cast<std::size_t>(from.bytes()));
  from.read(contents);
  write(contents);
}

bool Device::same(Memory& a, Memory& b) {
  constexpr std::int64_t kPiece = 1 << 20;
  if (a.bytes() != b.bytes()) return false;
  std::vector<std::byte> left, right;
  for (std::int64_t first = 0; first < a.bytes(); first += kPiece) {
    left.resize(static_cast<std::size_t>(std::min(kPiece, a.bytes() - first)));
    right.resize(left.size());
    a.read(left, first);
    b.read(right, first);
    if (left != right) return false;
  }
  return true;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): devices that can keep it
std::unique_ptr<LoadedKernel> Device::load(const Plan&, std::shared_ptr<const Binary>) {
  throw Error(ErrorKind::usage, label() + " launches no single kernels");
}

DeviceFailure lost_block(std::string_view device) {
  return {Status::hang,
          fmt::format("{}: a block of a resident kernel did not answer for seconds, found the GPU taken by "
                      "other work; run again, or choose another device",
                      device)};
}

std::string first_complaint(const std::string& log) {
  const std::size_t error = log.find("error");
  const std::size_t begin = error == std::string::npos ? 0 : log.rfind('\n', error) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

bool is_compilers_failure(std::string_view complaint) { return complaint.starts_with(kCompilerFailed); }

bool is_starvation(std::string_view complaint) { return complaint.starts_with(kStarved); }

CompileOutcome compile_one(Device& device, CompileRequest request) {
  auto done = device.compile({std::move(request)})->next();
  CompileOutcome& outcome = done.value().second;
  if (!outcome.binary) throw DeviceFailure(Status::compilation, device.label() + ": " + first_complaint(outcome.log));
  return std::move(outcome);
}

}  // namespace heddle
