// Plans: what a family returns for a configuration and a problem, as data. The runtime executes plans; tuner and
// trainer use the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/argument.hpp"
#include "heddle/kernels/image.hpp"
#include "heddle/kernels/kernel_instance.hpp"

namespace heddle {

/// The role of a buffer. Guards follow every buffer; `parameter` and `state` are restored before each timed run.
enum class Role {
  parameter,  ///< trained; part of the model
  state,      ///< changes while the plan runs, and is not part of the model
  input,      ///< only read
  output,     ///< only written; poisoned before a verification
  scratch,    ///< contents mean nothing between runs; poisoned before a verification
};

struct Buffer {
  std::string name;
  std::int64_t bytes = 0;
  Role role = Role::scratch;
  /// Above 0, of an input: it stays in the host's memory, and launches see the piece of it that they name, of so many
  /// bytes (the last one may have fewer), at the address it would have if all of it were there. The device brings the
  /// next piece while it works on the present one.
  std::int64_t piece_bytes = 0;
  /// Not empty: before every run of the plan the device copies the buffer to this `__constant__` variable of the
  /// kernels' program. A name with its namespaces, "mylib::filter".
  std::string symbol = {};
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};

/// One kernel launch, or one call of a routine. On a CPU, grid.x is the number of parts that the work is divided into,
/// and the most threads that can share it; the rest is unused.
struct Launch {
  int kernel = 0;  ///< index in Plan::kernels
  Extent grid, block;
  std::int64_t shared_bytes = 0;
  bool programmatic = false;  ///< may start before the previous launch has ended; the kernel itself waits
  bool resident = false;      ///< blocks wait for each other: all run at once, or the launch is refused
  unsigned cluster = 1;       ///< blocks in a thread block cluster; divides grid.x
  int piece = 0;              ///< of the buffers that come in pieces
  std::vector<Argument> arguments;
  /// Not empty: instead of a kernel, a routine of the device's numerical library; `kernel` and what says how to launch
  /// one mean nothing then. A plan with a routine is not captured. Which there are and what they take:
  /// runtime/device/routine.hpp.
  std::string routine = {};
};

struct Plan {
  Kernels kernels;  ///< that the launches name, of the family's template
  std::vector<Buffer> buffers;
  /// In order; what one run of the plan does.
  std::vector<Launch> launches;
  /// Submit all launches as one captured graph instead of one by one. No meaning on a CPU. Not with routines, nor with
  /// buffers that come in pieces.
  bool captured = false;
  /// Work that one run does at most, in the family's unit: samples (rows), where nothing else is said.
  std::int64_t samples = 0;

  /// Index of the buffer called `name`; throws std::out_of_range.
  [[nodiscard]] int buffer(std::string_view name) const;
  /// Index of `instance` among the kernels; the last one after it was added, if it was not there.
  [[nodiscard]] int kernel(const KernelInstance& instance);
};

}  // namespace heddle
