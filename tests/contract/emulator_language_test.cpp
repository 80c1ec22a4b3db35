// Small kernels on the emulator: each right as it stands, and found wrong after a small change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle {
namespace {

constexpr const char* kKernels = R"(
#include "heddle/kernels/common/barriers.cuh"
#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"

namespace test {

__device__ __forceinline__ int here() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// Turns the values of every block round.
__global__ void reverse(const float* in, float* out) {
  heddle::SharedMemory shared;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  float* values = shared.take<float>(threads);
  float* last = shared.take<float>(1);
  values[thread] = in[here()];
  if (thread == 0) *last = 0.0f;
  __syncthreads();
  out[here()] = values[threads - 1 - thread] + *last;
}

// Turns the values of either half of a block round; each half has a barrier of its own.
__global__ void halves(const float* in, float* out) {
  heddle::SharedMemory shared;
  const int thread = static_cast<int>(threadIdx.x), first = thread / 64 * 64;
  float* values = shared.take<float>(128);
  values[thread] = in[here()];
  if (thread < 64) {
    heddle::partial_barrier<1, 64>();
  } else {
    heddle::partial_barrier<2, 64>();
  }
  out[here()] = values[2 * first + 63 - thread];
}

// Every lane gets the value of the next one, through memory.
__global__ void next_lane(const float* in, float* out) {
  heddle::SharedMemory shared;
  float* values = shared.take<float>(static_cast<int>(blockDim.x));
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = in[here()];
  __syncwarp();
  out[here()] = values[thread / 32 * 32 + (thread + 1) % 32];
}

// Sums over every warp, and how many values of a block are positive.
__global__ void sums(const float* in, float* out) {
  const float value = in[here()];
  const float sum = heddle::sum_over_lanes<32>(value);
  const int positive = __syncthreads_count(value > 0.0f);
  out[here()] = sum + static_cast<float>(positive);
}

// Copies that do not hold up the thread.
__global__ void copy(const float* in, float* out) {
  heddle::SharedMemory shared;
  float* values = shared.take<float>(4 * static_cast<int>(blockDim.x));
  heddle::start_copy<4>(values + 4 * threadIdx.x, in + 4 * here());
  heddle::copies_arrived();
  __syncthreads();
  const int from = static_cast<int>(blockDim.x - 1 - threadIdx.x);
  out[here()] = values[4 * from] + values[4 * from + 3];
}

// Copies in groups: the next one is on its way while this one is read.
__global__ void groups(const float* in, float* out) {
  heddle::SharedMemory shared;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  float* values = shared.take<float>(3 * threads);
  for (int round = 0; round < 2; ++round) {
    heddle::start_grouped_copy(values + round * threads + thread, in + 4 * here() + round);
    heddle::end_group();
  }
  float sum = 0.0f;
  for (int round = 0; round < 4; ++round) {
    heddle::groups_arrived<1>();
    sum = 2.0f * sum + values[round % 3 * threads + thread];
    if (round < 2) heddle::start_grouped_copy(values + (round + 2) % 3 * threads + thread, in + 4 * here() + round + 2);
    heddle::end_group();
  }
  out[here()] = sum;
}

// Every launch adds its own number to what the one before left.
__global__ void chain(float* values, float number) {
  heddle::let_next_launch_start();
  heddle::wait_for_previous_launch();
  const int last = static_cast<int>(gridDim.x * blockDim.x) - 1;
  values[last - here()] += number;
}

// Counts: the same in any order.
__global__ void count(const float* in, float* out, int* total) {
  atomicAdd(total, in[here()] > 0.0f ? 1 : 0);
  out[here()] = 1.0f;
}

__global__ void clear(heddle::Packet* packets, int* total) {
  packets[here()] = {0.0f, 0.0f, 0.0f, 0};
  if (here() == 0) *total = 0;
}

// Every block learns the sum of what all blocks post, round after round.
__global__ void agree(const float* in, float* out, heddle::Packet* packets, int rounds) {
  const int blocks = static_cast<int>(gridDim.x), thread = static_cast<int>(threadIdx.x);
  float value = in[here()];
  for (int round = 0; round < rounds; ++round) {
    const unsigned stamp = static_cast<unsigned>(round + 1);
    heddle::Packet* slots = packets + round % 2 * blocks;
    const float own = heddle::sum_over_lanes<32>(value);
    if (thread == 0) heddle::post(slots + blockIdx.x, {own, 0.0f, 0.0f, stamp});
    float got = 0.0f;
    if (thread < blocks) {
      heddle::Packet packet = heddle::look(slots + thread);
      while (packet.stamp != stamp) packet = heddle::look(slots + thread);
      got = packet.a;
    }
    value = heddle::sum_over_lanes<32>(got) / 100.0f;
  }
  out[here()] = value;
}

// Every block learns how many values of all blocks before it are positive, from the block before it.
__global__ void running(const float* in, float* out, unsigned* reports) {
  const unsigned block = blockIdx.x;
  unsigned before = 0;
  const auto own = static_cast<unsigned>(__syncthreads_count(in[here()] > 0.0f));
  if (threadIdx.x == 0) {
    unsigned seen = block == 0 ? 1 : 0;
    while (seen == 0) seen = heddle::look_word(reports + block - 1);
    before = seen - 1;
    heddle::post_word(reports + block, before + own + 1);
  }
  out[here()] = static_cast<float>(__shfl_sync(heddle::kAllLanes, before, 0));
}

#if __CUDA_ARCH__ >= 900
// Every block learns the sum over all blocks of a cluster, lane by lane, round after round.
__global__ void gather(const float* in, float* out, int rounds) {
  heddle::SharedMemory shared;
  const int thread = static_cast<int>(threadIdx.x), blocks = heddle::cluster_blocks();
  int* words = shared.take<int>(4);
  float* values = shared.take<float>(2 * blocks * 4 * 32);
  const auto box = [&](int round) { return heddle::Mailbox(words + 2 * (round % 2)); };
  if (thread < 2) box(thread).open();
  heddle::cluster_barrier();
  float value = in[here()];
  for (int round = 0; round < rounds; ++round) {
    float* slots = values + round % 2 * blocks * 4 * 32 + 4 * thread;
    for (int to = 0; to < blocks; ++to) {
      box(round).send(to, slots + heddle::cluster_rank() * 4 * 32, heddle::filled<4>(value));
    }
    if (thread == 0) box(round).expect(blocks * 16 * 32);
    box(round).wait(round / 2);
    value = 0.0f;
    for (int from = 0; from < blocks; ++from) value += heddle::load<4>(slots + from * 4 * 32).value[1];
    value *= 0.25f;
    __syncwarp();
  }
  heddle::cluster_barrier();
  out[here()] = value;
}

// Every block learns the values of the next one of its cluster, turned round, round after round. It works between the
// halves of the barriers that say that the values are there, and that they were loaded.
__global__ void between(const float* in, float* out, int rounds) {
  heddle::SharedMemory shared;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int next = (heddle::cluster_rank() + 1) % heddle::cluster_blocks();
  float* values = shared.take<float>(4 * threads);
  float* kept = shared.take<float>(threads);
  float value = in[here()];
  for (int round = 0; round < rounds; ++round) {
    heddle::store<4>(values + 4 * thread, heddle::filled<4>(value));
    heddle::cluster_arrive();
    kept[thread] = value;
    heddle::cluster_wait();
    value = heddle::load_from_block(next, values + 4 * (threads - 1 - thread)).value[1];
    if (thread < 32) {
      heddle::partial_barrier<1, 32>();
      heddle::cluster_arrive_after_loads();
    } else {
      heddle::partial_barrier<2, 32>();
      heddle::cluster_arrive_after_loads();
    }
    value += 0.5f * kept[thread ^ 1];
    heddle::cluster_wait();  // all have loaded
  }
  out[here()] = value;
}

// Brings the values of a round on chip while it works with those of the round before.
__global__ void ahead(const float* in, float* out, int rounds) {
  heddle::SharedMemory shared;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  float* values = shared.take<float>(2 * threads);
  const heddle::Mailbox box(shared.take<int>(2));
  const auto start = [&](int round) {
    if (thread > 0) return;
    box.expect(4 * threads);
    box.fetch(values + round % 2 * threads, in + (round % 4 * gridDim.x + blockIdx.x) * threads, threads);
  };
  if (thread == 0) box.open();
  __syncthreads();
  start(0);
  box.wait(0);
  __syncthreads();
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    start(round + 1);
    sum = 0.5f * sum + values[round % 2 * threads + threads - 1 - thread];
    box.wait(round + 1);
    __syncthreads();
  }
  out[here()] = sum;
}
#endif

}  // namespace test
)";

constexpr int kThreads = 32, kBlocks = 4, kCount = kThreads * kBlocks;

/// All kernels, with the first `find` from one of them on replaced.
std::string edited(const std::string& kernel, const std::string& find, const std::string& replace) {
  std::string text = kKernels;
  std::size_t at = text.find(find, text.find("void " + kernel + "("));
  if (at == std::string::npos) at = text.find(find);  // in what runs before it
  REQUIRE_MESSAGE(at != std::string::npos, "no \"" << find << "\" in " << kernel);
  return text.replace(at, find.size(), replace);
}

/// `text` must outlive it.
TemplateSource source(std::string_view text) {
  std::vector<SourceFile> files{{"test/kernels.cuh", text}};
  for (const SourceFile& file : embedded_sources()) {
    if (file.name.starts_with("heddle/kernels/common/")) files.push_back(file);
  }
  return TemplateSource(files);
}

Launch launch(int kernel, std::vector<Argument> arguments, std::int64_t shared_words = 0) {
  return {.kernel = kernel,
          .grid = {.x = kBlocks},
          .block = {.x = kThreads},
          .shared_bytes = 4 * shared_words,
          .arguments = std::move(arguments)};
}

/// A plan around one kernel; buffers: 0 in, 1 out, 2 packets, 3 total, 4 values.
Plan plan(const std::string& kernel) {
  Plan plan;
  plan.kernels = {"test::" + kernel, "test::clear"};
  plan.buffers = {{"in", 16 * kCount, Role::input},
                  {"out", 4 * kCount, Role::output},
                  {"packets", 16 * kCount, Role::scratch},
                  {"total", 4, Role::scratch},
                  {"values", 4 * kCount, Role::state}};
  const BufferArgument in{0, 0}, out{1, 0}, packets{2, 0}, total{3, 0}, values{4, 0};
  plan.launches.push_back(launch(1, {packets, total}));
  if (kernel == "reverse") plan.launches.push_back(launch(0, {in, out}, kThreads + 1));
  if (kernel == "halves") {
    plan.launches.push_back(launch(0, {in, out}, kCount));
    plan.launches.back().grid.x = 1;
    plan.launches.back().block.x = kCount;
  }
  if (kernel == "next_lane") plan.launches.push_back(launch(0, {in, out}, kThreads));
  if (kernel == "sums") plan.launches.push_back(launch(0, {in, out}));
  if (kernel == "copy") plan.launches.push_back(launch(0, {in, out}, 4 * kThreads));
  if (kernel == "groups") plan.launches.push_back(launch(0, {in, out}, 3 * kThreads));
  if (kernel == "count") plan.launches.push_back(launch(0, {in, out, total}));
  if (kernel == "chain") {
    for (int i = 0; i < 4; ++i) {
      plan.launches.push_back(launch(0, {values, 1.0F}));
      plan.launches.back().programmatic = i > 0;
    }
  }
  if (kernel == "agree") {
    plan.launches.push_back(launch(0, {in, out, packets, std::int32_t{6}}));
    plan.launches.back().resident = true;
  }
  if (kernel == "running") {
    plan.launches.push_back(launch(0, {in, out, packets}));
    plan.launches.back().resident = true;
  }
  if (kernel == "gather") {
    plan.launches.push_back(launch(0, {in, out, std::int32_t{5}}, 4 + 2 * kBlocks * 4 * kThreads));
    plan.launches.back().cluster = 4;
  }
  if (kernel == "between") {
    plan.launches.push_back(launch(0, {in, out, std::int32_t{4}}, 5 * 2 * kThreads));
    plan.launches.back().grid.x = kBlocks / 2;
    plan.launches.back().block.x = 2 * kThreads;
    plan.launches.back().cluster = 2;
  }
  if (kernel == "ahead") {
    plan.launches.push_back(launch(0, {in, out, std::int32_t{6}}, 2 * 2 * kThreads + 2));
    plan.launches.back().grid.x = kBlocks / 2;
    plan.launches.back().block.x = 2 * kThreads;
  }
  return plan;
}

struct Result {
  std::string finding;  ///< empty: none
  std::vector<float> out;
};

Result run(const std::string& kernel, const TemplateSource& source, std::uint64_t order, int capability = 90,
           unsigned cluster = 0) {
  const auto device = open_emulator({.capability = capability, .order = order});
  Plan what = plan(kernel);
  if (cluster > 0) what.launches.back().cluster = cluster;
  const auto binary = compile_one(*device, {&source, what.kernels}).binary;
  Result result;
  result.out.resize(kCount);
  try {
    const auto execution = device->prepare(std::move(what), binary);
    std::vector<float> in(4 * kCount);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7) - 2.0F;
    execution->memory("in").write(std::as_bytes(std::span(in)));
    execution->memory("values").fill(std::byte{0});
    execution->memory("out").fill(std::byte{0xff});
    execution->launch();
    execution->memory(kernel == "chain" ? "values" : "out").read(std::as_writable_bytes(std::span(result.out)));
  } catch (const DeviceFailure& failure) {
    result.finding = failure.what();
    CHECK(result.finding.find('\n') == std::string::npos);
  }
  return result;
}

struct Fault {
  const char* name;
  const char* kernel;
  const char* find;
  const char* replace;
  const char* finding;  ///< part of what has to be said
};

const std::vector<Fault> kFaults{
    {"a missing barrier", "reverse", "__syncthreads();\n  out", "out", "nobody wrote"},
    {"a race between the threads of a block", "reverse", "values[thread] = in[here()];",
     "values[thread] = in[here()]; values[0] = 1.0f;", "race: writes"},
    {"a word of shared memory that nobody wrote", "reverse", "if (thread == 0) *last = 0.0f;", "", "nobody wrote"},
    {"shared memory, one word beyond the piece", "reverse", "values[threads - 1 - thread]", "values[threads - thread]",
     "out of bounds"},
    {"a piece of shared memory that the launch does not have", "reverse", "take<float>(1)", "take<float>(2)",
     "takes words"},
    {"global memory, one word beyond the buffer", "reverse", "out[here()] =", "out[here() + 1] =", "out of bounds"},
    {"a race between blocks", "reverse", "out[here()] =", "out[here() % 64] =", "race: writes"},
    {"a barrier in a branch", "reverse", "  __syncthreads();", "  __syncthreads();\n if (thread > 2) __syncthreads();",
     "exit"},
    {"two barriers instead of one", "reverse", "  __syncthreads();",
     "  if (thread > 2) {\n __syncthreads();\n } else {\n __syncthreads();\n }", "another one"},
    {"a thread that leaves before the barrier", "reverse", "  __syncthreads();",
     "  if (thread == 7) return;\n __syncthreads();", "exit"},
    {"a kernel that takes more than a launch gives", "reverse", "reverse(const float* in, float* out)",
     "reverse(const float* in, float* out, int more)", "takes 3 arguments (ppi), a launch gives 2 (pp)"},
    {"a float where the kernel takes a int", "chain", "__global__ void chain(float* values, float number)",
     "__global__ void chain(float* values, int number)", "takes 2 arguments (pi), a launch gives 2 (pf)"},
    {"a null pointer", "reverse", "in[here()]", "static_cast<const float*>(nullptr)[here()]", "null"},
    {"a misaligned vector access", "reverse", "in[here()]", "heddle::load<4>(in + here()).value[0]", "misaligned"},
    {"a pair of words of shared memory that begins at an odd one", "reverse", "out[here()] =",
     "if (thread == 1) values[thread] = heddle::load<2>(values + thread).value[0]; out[here()] =", "misaligned"},
    {"a misaligned vector store to global memory", "reverse", "out[here()] =",
     "if (thread == 2) heddle::store<4>(out + here(), {{1.0f, 2.0f, 3.0f, 4.0f}}); else out[here()] =", "misaligned"},
    {"a pair of words that is stored at an odd one of shared memory", "reverse", "values[thread] = in[here()];",
     "if (thread == 1) heddle::store<2>(values + thread, {{1.0f, 2.0f}}); values[thread] = in[here()];", "misaligned"},
    {"a double at an odd word of shared memory", "reverse", "values[thread] = in[here()];",
     "if (thread == 1) *reinterpret_cast<double*>(values + thread) = 1.0; values[thread] = in[here()];", "misaligned"},
    {"a copy of four words to an address that is no multiple of 16", "copy", "heddle::copies_arrived();\n",
     "if (threadIdx.x == 0) heddle::start_copy<4>(values + 1, in); heddle::copies_arrived();\n", "no multiple of 16"},
    {"a write to an input", "reverse", "out[here()] =", "const_cast<float*>(in)[here()] =", "an input"},
    {"an index outside a local array", "reverse", "in[here()];",
     "0.0f; float own[3] = {}; own[thread % 4] = 1.0f; values[thread] += own[thread % 2];", "outside an array"},
    {"values of warps that do not come to a barrier", "halves", "values[2 * first + 63 - thread]",
     "values[127 - thread]", "race"},
    {"a barrier to which too few warps come", "halves", "partial_barrier<1, 64>", "partial_barrier<1, 96>", "deadlock"},
    {"one barrier for different warps", "halves", "partial_barrier<2, 64>", "partial_barrier<1, 64>", "another one"},
    {"a barrier of a part of a warp", "halves", "partial_barrier<2, 64>", "partial_barrier<2, 63>", "whole warps"},
    {"lanes that do not wait for each other", "next_lane", "__syncwarp();", "", "nobody wrote"},
    {"a shuffle that only half of the warp reaches", "sums", "heddle::sum_over_lanes<32>(value)",
     "threadIdx.x < 16 ? heddle::sum_over_lanes<32>(value) : 0.0f", "barrier"},
    {"a mask without the lane that gives it", "sums", "heddle::sum_over_lanes<32>(value)",
     "__shfl_xor_sync(0xffffu, value, 1)", "does not name its own lane"},
    {"a lane that the mask does not name", "sums", "heddle::sum_over_lanes<32>(value)",
     "threadIdx.x < 16 ? __shfl_xor_sync(0xffffu, value, 16) : 0.0f", "does not name"},
    {"a mask that names a lane that has exited", "sums",
     "const float sum =", "if (threadIdx.x == 31) return;\n const float sum =", "exit"},
    {"a copy that is read before it has arrived", "copy", "heddle::copies_arrived();\n", "", "before the copy"},
    {"a copy that only its own thread waits for", "copy", "  __syncthreads();\n", "", "nobody wrote"},
    {"groups of copies of which one too many may still be on its way", "groups", "groups_arrived<1>",
     "groups_arrived<2>", "before the copy"},
    {"a group of copies that is not ended", "groups", "heddle::end_group();\n  }\n  float sum", "}\n  float sum",
     "before the copy"},
    {"a launch that does not wait for the one before", "chain", "heddle::wait_for_previous_launch();\n", "",
     "wait_for_previous_launch()"},
    {"a launch that reads before it waits", "chain", "heddle::wait_for_previous_launch();",
     "const float early = values[gridDim.x * blockDim.x - 1 - here()]; heddle::wait_for_previous_launch(); if (early > "
     "1e30f) return;",
     "wait_for_previous_launch()"},
    {"a count without an atomic", "count", "atomicAdd(total, in[here()] > 0.0f ? 1 : 0)", "*total += 1", "race"},
    {"a block that posts nothing", "agree", "if (thread == 0) heddle::post",
     "if (thread == 0 && blockIdx.x != 2) heddle::post", "deadlock"},
    {"packets that nobody emptied", "agree", "packets[here()] = {0.0f, 0.0f, 0.0f, 0};", "", "nobody wrote"},
    {"a packet beyond the buffer", "agree", "heddle::look(slots + thread);",
     "heddle::look(slots + 32 * blocks + thread);", "out of bounds"},
    {"a stamp of the wrong round: a stale one", "agree", "static_cast<unsigned>(round + 1)",
     "static_cast<unsigned>(round / 4 + 1)", "wrong result"},
    {"a packet written by a plain store", "agree", "heddle::post(slots + blockIdx.x, {own, 0.0f, 0.0f, stamp})",
     "slots[blockIdx.x] = {own, 0.0f, 0.0f, stamp}", "race"},
    {"a block that reports nothing", "running", "heddle::post_word(reports + block, before + own + 1);",
     "if (block != 1) heddle::post_word(reports + block, before + own + 1);", "deadlock"},
    {"a report written by a plain store", "running", "heddle::post_word(reports + block, before + own + 1)",
     "reports[block] = before + own + 1", "race"},
    {"a report of another place", "running", "heddle::post_word(reports + block,", "heddle::post_word(reports + 4096,",
     "out of bounds"},
    {"a report that lies across two words", "running", "heddle::look_word(reports + block - 1)",
     "heddle::look_word(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(reports + block - 1) + 2))",
     "no multiple of 4"},
    {"a mailbox that others do not know to be open: a missing release", "gather", "heddle::cluster_barrier();\n", "",
     "race"},
    {"messages that are not waited for: a missing acquire", "gather", "    box(round).wait(round / 2);\n", "",
     "nobody wrote"},
    {"messages that only some lanes wait for", "gather", "box(round).wait(round / 2);",
     "if (thread < 31) box(round).wait(round / 2);", "nobody wrote"},
    {"a block that the cluster does not have: a wrong rank", "gather", "send(to,", "send(to + 1,", "of a cluster of"},
    {"messages to the wrong place: a wrong rank", "gather", "slots + heddle::cluster_rank() * 4 * 32", "slots", "race"},
    {"more bytes expected than come", "gather", "expect(blocks * 16 * 32)", "expect(blocks * 16 * 33)", "deadlock"},
    {"a slot that is used again before it was read", "gather", "values + round % 2 * blocks * 4 * 32", "values",
     "race"},
    {"the wrong round of a mailbox", "gather", "wait(round / 2)", "wait(round / 2 + 1)", "before round"},
    {"two barriers of the cluster instead of one", "gather", "heddle::cluster_barrier();\n",
     "if (heddle::cluster_rank() == 0) {\n heddle::cluster_barrier();\n } else {\n heddle::cluster_barrier();\n }\n",
     "another one"},
    {"values that are left after the arrival that others rely on", "between",
     "heddle::store<4>(values + 4 * thread, heddle::filled<4>(value));\n    heddle::cluster_arrive();\n",
     "heddle::cluster_arrive();\n    heddle::store<4>(values + 4 * thread, heddle::filled<4>(value));\n",
     "race: reads"},
    {"an arrival that hands on no values", "between", "heddle::cluster_arrive();",
     "heddle::cluster_arrive_after_loads();", "race: reads"},
    {"values of another warp that it left after its arrival", "between", "kept[thread ^ 1]", "kept[thread ^ 32]",
     "race"},
    {"values in place of those that others still load: a wait that comes too late", "between",
     "heddle::cluster_wait();  // all",
     "heddle::store<4>(values + 4 * thread, heddle::filled<4>(value)); heddle::cluster_wait();  // all",
     "race: writes"},
    {"values in place of those that others still load: no wait", "between", "heddle::cluster_wait();  // all",
     "heddle::store<4>(values + 4 * thread, heddle::filled<4>(value));  // all", "race: writes"},
    {"loads that no barrier of the warps has completed", "between",
     "heddle::partial_barrier<1, 32>();\n      heddle::cluster_arrive_after_loads();\n",
     "heddle::cluster_arrive_after_loads();\n      heddle::partial_barrier<1, 32>();\n", "race: writes"},
    {"an arrival after an arrival", "between", "heddle::cluster_arrive();\n",
     "heddle::cluster_arrive();\n    heddle::cluster_arrive();\n", "twice"},
    {"a wait without an arrival", "between", "heddle::cluster_arrive();\n", "", "has not arrived"},
    {"an arrival that nobody waits for", "between", "heddle::cluster_wait();  // all",
     "if (round + 1 < rounds) heddle::cluster_wait();  // all", "exits without a wait"},
    {"lanes of a warp that arrive at different places", "between", "heddle::cluster_arrive();\n",
     "if (thread % 2 == 0) {\n heddle::cluster_arrive();\n } else {\n heddle::cluster_arrive();\n }\n",
     "the warp is divided"},
    {"a warp that exits before its arrival", "between", "heddle::cluster_arrive();\n",
     "if (round == 2 && thread >= 32) return;\n heddle::cluster_arrive();\n", "exit"},
    {"a round that begins while a late warp still has to wait for the one before", "ahead",
     "box.wait(round + 1);\n    __syncthreads();\n", "__syncthreads();\n    box.wait(round + 1);\n", "is over too"},
    {"a warp that never arrives", "between", "heddle::partial_barrier<2, 32>", "heddle::partial_barrier<2, 64>",
     "wait at a barrier of the cluster"},
};

TEST_CASE("emulator: small kernels are right in any order") {
  const TemplateSource whole = source(kKernels);
  for (const char* kernel : {"reverse", "halves", "next_lane", "sums", "copy", "groups", "count", "chain", "agree",
                             "running", "gather", "between", "ahead"}) {
    INFO(std::string(kernel));
    const Result first = run(kernel, whole, 0);
    CHECK(first.finding == "");
    CHECK(std::none_of(first.out.begin(), first.out.end(), [](float value) { return value != value; }));
    for (const std::uint64_t order : {1, 2, 3, 4, 5, 6}) {
      const Result again = run(kernel, whole, order);
      CHECK(again.finding == "");
      CHECK(again.out == first.out);
    }
  }
}

TEST_CASE("emulator: every planted fault is found") {
  const TemplateSource whole = source(kKernels);
  for (const Fault& fault : kFaults) {
    INFO(std::string(fault.name));
    REQUIRE(!std::string(fault.finding).empty());  // any complaint would do
    const std::string text = edited(fault.kernel, fault.find, fault.replace);
    const TemplateSource changed = source(text);
    const std::vector<float> right = run(fault.kernel, whole, 0).out;
    std::string finding;
    for (const std::uint64_t order : {0, 1, 2}) {
      const Result result = run(fault.kernel, changed, order);
      finding = result.finding.empty() && result.out != right ? "wrong result" : result.finding;
      if (!finding.empty()) break;
    }
    CHECK_MESSAGE(!finding.empty(), "not found");
    CHECK_MESSAGE(finding.find(fault.finding) != std::string::npos, finding);
  }
}

/// That the kernel with other words is as right as it was, in any order.
void check_alike(const std::string& kernel, const std::string& text) {
  const TemplateSource changed = source(text), whole = source(kKernels);
  const Result right = run(kernel, whole, 0);
  for (const std::uint64_t order : {0, 1, 2, 3, 4, 5, 6}) {
    const Result result = run(kernel, changed, order);
    CHECK(result.finding == "");
    CHECK(result.out == right.out);
  }
}

TEST_CASE("emulator: a thread that looks at one packet many times before it decides is no deadlock") {
  check_alike("agree", edited("agree", "while (packet.stamp != stamp) packet",
                              "while (packet.stamp != stamp) for (int look = 0; look < 40; ++look) packet"));
}

TEST_CASE(
    "emulator: an arrival at a barrier of the cluster hands on what a barrier of the block has ordered before it") {
  check_alike(
      "between",
      edited("between",
             "heddle::store<4>(values + 4 * thread, heddle::filled<4>(value));\n    heddle::cluster_arrive();\n",
             "if (thread < 32) heddle::cluster_arrive();\n"
             "    heddle::store<4>(values + 4 * thread, heddle::filled<4>(value));\n"
             "    __syncthreads();\n"
             "    if (thread >= 32) heddle::cluster_arrive();\n"));
}

TEST_CASE("emulator: a message needs a cluster of two blocks, as on a GPU") {
  const TemplateSource whole = source(kKernels);
  CHECK(run("gather", whole, 0, 90, 2).finding == "");
  const std::string alone = run("gather", whole, 0, 90, 1).finding;
  CHECK_MESSAGE(alone.find("no cluster has two blocks") != std::string::npos, alone);
}

TEST_CASE("emulator: what depends on the order of blocks differs between orders") {
  const std::string text =
      edited("count", "out[here()] = 1.0f;", "out[here()] = static_cast<float>(atomicAdd(total, 1));");
  const TemplateSource changed = source(text);
  const std::vector<float> first = run("count", changed, 0).out;
  bool differs = false;
  for (const std::uint64_t order : {1, 2, 3}) differs = differs || run("count", changed, order).out != first;
  CHECK(differs);
}

TEST_CASE("emulator: a capability's limits") {
  const TemplateSource whole = source(kKernels);
  const auto device = open_emulator({.capability = 75});
  CHECK(device->label() == "emulator:75");
  CHECK(device->identity().architecture == "7.5");
  const auto refused = [&](const std::function<void(Launch&)>& change) {
    Plan what = plan("reverse");
    change(what.launches.back());
    const auto binary = compile_one(*device, {&whole, what.kernels}).binary;
    try {
      static_cast<void>(device->prepare(std::move(what), binary));
    } catch (const DeviceFailure& failure) {
      return failure.status() == Status::launch;
    }
    return false;
  };
  CHECK_FALSE(refused([](Launch&) {}));
  CHECK(refused([](Launch& launch) { launch.block.x = 1056; }));
  CHECK(refused([](Launch& launch) { launch.shared_bytes = 65 << 10; }));
  CHECK(refused([](Launch& launch) { launch.cluster = 2; }));
  CHECK(refused([](Launch& launch) { launch.programmatic = true; }));
  CHECK(refused([](Launch& launch) { launch.resident = true, launch.grid.x = 68 * 32 + 1; }));
  CHECK_THROWS_AS(open_emulator({.capability = 42}), Error);
}

}  // namespace
}  // namespace heddle
