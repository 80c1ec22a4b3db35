// A CUDA driver without GPUs, for tests of what heddle does with several cards and with cards that fail. It is built as
// libcuda.so.1 and opened in place of NVIDIA's. It knows the calls that heddle makes, and one kernel: examples/kernel's
// `scale`, which it computes on the CPU at once. Times are made up from the block's size, so that they never vary.
//
// HEDDLE_FAKE_CARDS names a file with a card a line: UUID, multiprocessors, GiB of memory, what happens to it, after
// how many launches of a process, and its name. What happens is one of
//   lasts   nothing;
//   fails   an error of its memory, and nobody can open it afterwards;
//   leaves  the same error, and the driver does not count it afterwards, so that others get its number.
// A card that has failed is told by a file beside that one, since its processes end. CUDA_VISIBLE_DEVICES works as
// NVIDIA describes it: numbers or beginnings of UUIDs, up to the first that names no card; of slices (UUIDs that begin
// with MIG) a process sees the first only.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Card {
  std::string uuid, fate, name;
  int units = 0;
  std::size_t gib = 0;
  long launches_left = 0;
  bool lost = false;
  double milliseconds = 0.0;  ///< made-up time that its launches have taken
};

struct LaunchOf {
  float factor = 0.0F;
  const float* from = nullptr;
  float* to = nullptr;
  int count = 0;
  double milliseconds = 0.0;
};

std::filesystem::path cards_file() {
  const char* const file = std::getenv("HEDDLE_FAKE_CARDS");
  return file == nullptr ? "" : file;
}

std::filesystem::path mark_of(const Card& card) { return cards_file().string() + "." + card.uuid + ".lost"; }

/// The cards that this process sees.
std::vector<std::unique_ptr<Card>> visible_cards() {
  std::vector<Card> all;
  std::ifstream file(cards_file());
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Card card;
    words >> card.uuid >> card.units >> card.gib >> card.fate >> card.launches_left >> std::ws;
    std::getline(words, card.name);
    card.lost = std::filesystem::exists(mark_of(card));
    if (!(card.lost && card.fate == "leaves")) all.push_back(card);
  }
  std::vector<std::unique_ptr<Card>> seen;
  const auto see = [&](const Card& card) {
    const bool slice = card.uuid.starts_with("MIG");
    const bool has_slice = std::ranges::any_of(seen, [](const auto& other) { return other->uuid.starts_with("MIG"); });
    if (!(slice && has_slice)) seen.push_back(std::make_unique<Card>(card));
  };
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (const Card& card : all) see(card);
    return seen;
  }
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    const bool number =
        !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
    const auto found =
        number
            ? all.begin() + std::min<std::ptrdiff_t>(std::stol(name), static_cast<std::ptrdiff_t>(all.size()))
            : std::ranges::find_if(all, [&](const Card& card) { return !name.empty() && card.uuid.starts_with(name); });
    if (found == all.end()) break;
    see(*found);
  }
  return seen;
}

std::vector<std::unique_ptr<Card>>& cards() {
  static std::vector<std::unique_ptr<Card>> seen = visible_cards();
  return seen;
}

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}

thread_local std::vector<CUcontext> contexts;

/// Its memory is the host's.
void* memory(CUdeviceptr address) { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)
Card& card_of(CUcontext context) { return *reinterpret_cast<Card*>(context); }
Card& current() { return card_of(contexts.back()); }
CUresult health(const Card& card) { return card.lost ? CUDA_ERROR_ECC_UNCORRECTABLE : CUDA_SUCCESS; }

void run(Card& card, const LaunchOf& launch) {
  for (int i = 0; i < launch.count; ++i) launch.to[i] = launch.factor * launch.from[i];
  card.milliseconds += launch.milliseconds;
  if (card.fate == "lasts" || --card.launches_left > 0) return;
  card.lost = true;
  std::ofstream(mark_of(card)) << "lost\n";
}

template <class Number>
Number parameter(void** parameters, int index) {
  Number value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

}  // namespace

struct CUstream_st {
  Card* card = nullptr;
  bool capturing = false;
  std::vector<LaunchOf> recorded;
};
struct CUevent_st {
  double milliseconds = 0.0;
};
struct CUgraph_st {
  std::vector<LaunchOf> launches;
};
struct CUgraphExec_st {
  std::vector<LaunchOf> launches;
};

extern "C" {

CUresult cuInit(unsigned) { return cards().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
/// NVRTC asks for it, and goes on without.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_ECC_UNCORRECTABLE    ? "CUDA_ERROR_ECC_UNCORRECTABLE"
          : error == CUDA_ERROR_DEVICE_UNAVAILABLE ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
          : error == CUDA_ERROR_NO_DEVICE          ? "CUDA_ERROR_NO_DEVICE"
                                                   : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "made up";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(cards().size());
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  const std::string& text = cards().at(static_cast<std::size_t>(device))->name;
  std::memset(name, 0, static_cast<std::size_t>(length));
  text.copy(name, static_cast<std::size_t>(length) - 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  *uuid = {};
  cards().at(static_cast<std::size_t>(device))->uuid.copy(uuid->bytes, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = cards().at(static_cast<std::size_t>(device))->units;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 50 << 20;
      break;
    default:
      *value = 227 << 10;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  *bytes = cards().at(static_cast<std::size_t>(device))->gib << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char*, int, CUdevice) { return CUDA_ERROR_INVALID_DEVICE; }

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  Card& card = *cards().at(static_cast<std::size_t>(device));
  if (card.lost) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  *context = reinterpret_cast<CUcontext>(&card);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext context) {
  contexts.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  *context = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  const auto found = std::ranges::find(cards(), &current(), &std::unique_ptr<Card>::get);
  *device = static_cast<CUdevice>(found - cards().begin());
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st{.card = &current(), .capturing = false, .recorded = {}};
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) { return health(*stream->card); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  stream->capturing = true;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  stream->capturing = false;
  *graph = new CUgraph_st{stream->recorded};
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->launches};
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  const std::scoped_lock lock(guard());
  for (const LaunchOf& launch : executable->launches) run(*stream->card, launch);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->milliseconds = stream->card->milliseconds;
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return health(current()); }
// Newer headers give the name to a version that heddle does not ask for.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (current().lost) return health(current());
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  std::free(memory(address));
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange(CUdeviceptr*, std::size_t*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuMemHostAlloc(void**, std::size_t, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuMemFreeHost(void*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  std::memcpy(memory(to), from, bytes);
  return health(*stream->card);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  std::memcpy(to, memory(from), bytes);
  return health(*stream->card);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  std::memmove(memory(to), memory(from), bytes);
  return health(*stream->card);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  std::memset(memory(to), value, bytes);
  return health(*stream->card);
}
CUresult cuMemsetD2D8Async(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t, CUstream) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

// Modules hold nothing: a function is its name.
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(&current());
  return health(current());
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  *function = nullptr;
  if (std::strstr(name, "scale") == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&current());
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr*, std::size_t*, CUmodule, const char*) { return CUDA_ERROR_NOT_FOUND; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK           ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? 48 << 10
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                      ? 32
                                                                          : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  *blocks = 1;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
  *clusters = 1;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void** parameters, void**) {
  const double from_best = std::abs(std::log2(config->blockDimX) - 7.0);
  const LaunchOf launch{.factor = parameter<float>(parameters, 0),
                        .from = parameter<const float*>(parameters, 1),
                        .to = parameter<float*>(parameters, 2),
                        .count = parameter<int>(parameters, 3),
                        .milliseconds = 0.05 + 0.01 * from_best};
  if (config->hStream->capturing) {
    config->hStream->recorded.push_back(launch);
    return CUDA_SUCCESS;
  }
  const std::scoped_lock lock(guard());
  run(*config->hStream->card, launch);
  return CUDA_SUCCESS;
}

}  // extern "C"
