// A kernel of a program's own, as data: text, parameters, geometry and arguments. A kernel family is made from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/compile_options.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/own/element_type.hpp"
#include "heddle/kernels/own/fill.hpp"
#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/value.hpp"

namespace heddle {

/// One parameter of the kernel function, in its order.
struct KernelArgument {
  std::string name;
  ElementType type = ElementType::float32;
  /// Of a buffer: its number of elements. The kernel takes its address.
  std::string elements = {};
  Role role = Role::input;  ///< of a buffer
  /// Of a number: its value while the kernel is tuned. Calls give their own.
  std::string value = {};
  int lanes = 1;   ///< numbers of an element, 4 for float4; of a value, each has it
  Fill fill = {};  ///< of a buffer that has contents, where no example gives them
  /// Of an input: the `__constant__` variable that its contents are copied to before the kernel runs, "filter" or
  /// "mylib::filter". Empty: none.
  std::string symbol = {};
  bool passed = true;    ///< of a buffer with a symbol: whether the kernel takes its address as well
  bool compared = true;  ///< of a buffer that is written: whether what it holds afterwards is verified

  /// One member of a struct.
  struct Field {
    std::string name;
    ElementType type = ElementType::float32;
    std::string value;  ///< while the kernel is tuned; every lane has it
    int lanes = 1;      ///< 4 for float4
  };
  /// Of a struct that the kernel takes by value: its members, laid out as C++ does. It has neither elements nor a
  /// value.
  std::vector<Field> fields = {};
  /// Of a struct whose members are not known: its bytes while the kernel is tuned, two hexadecimal digits each.
  std::string bytes = {};
  std::int64_t alignment = 1;  ///< of a struct given by its bytes: that of the type, a power of two up to 16

  [[nodiscard]] bool is_buffer() const noexcept { return !elements.empty(); }
  /// Whether it is a buffer that the kernel writes and that is verified.
  [[nodiscard]] bool is_compared() const noexcept {
    return is_buffer() && compared && role != Role::input && role != Role::scratch;
  }
  [[nodiscard]] bool is_struct() const noexcept { return !fields.empty() || !bytes.empty(); }
};

/// The kernel for devices of one kind.
struct KernelCode {
  /// The source. For "cuda" it may include what is under heddle/kernels/common/; for "cpu" it includes
  /// "heddle/kernels/common/cpu_launch.hpp", which says what a kernel there looks like.
  std::string text;
  /// Either a template expression, in which {...} stands for the value of an expression: "saxpy<{block_size},
  /// {items}>". Or the name of a function that is no template. It gets the active parameters as macros of their names.
  std::string kernel;
  /// The configuration that runs without a profile, "block_size=128 items=1". Valid for every problem. Empty: of every
  /// parameter that has a meaning its Tunable::untuned.
  std::string untuned = {};
  /// Launch geometry, one to three expressions each. On a CPU the first of `grid` is the number of parts of the work
  /// (Launch::grid), and the rest is not used.
  std::vector<std::string> grid{"1"}, block{"1"};
  std::string shared_bytes = "0";  ///< dynamic shared memory of a block
  CompileOptions options = {};
  /// Files that the text includes in quotes, by the names that it gives them.
  std::map<std::string, std::string> headers = {};
  /// Further macros: expressions, by name. A template that has some gets the active parameters as macros, too.
  std::map<std::string, std::string> macros = {};
};

/// What the outputs of every configuration are compared with: a kernel that is known to be right, one configuration, or
/// the expected contents in files. At most one of the three; none: the default configuration.
struct KernelReference {
  /// By language. Its expressions may name sizes and the device, and no parameters.
  std::map<std::string, KernelCode> code = {};
  /// The arguments that it takes, by name and in its order. Empty: those of the kernel.
  std::vector<std::string> arguments = {};
  /// "block_size=64 items=1". Where the constraints forbid it, the default configuration takes its place.
  std::string configuration = {};
  /// By the name of an output: the file with its contents (read_array()), by its path from KernelDefinition::folder. In
  /// the path, {...} stands for the value of an expression over the sizes: "sums_{n}.npy". At a problem without files
  /// the default configuration takes their place.
  std::map<std::string, std::string> files = {};
};

/// Texts of expressions may name the axes, the parameters (those that have a meaning in the configuration), and of the
/// device `backend` ("cuda", "cpu", "emulator"), `units` (multiprocessors, cores), `compute_capability` (90 for 9.0, 0
/// on a CPU) and `local_bytes` (shared memory of a block).
///
/// A plan of it is one launch, and its cost is counted in launches. A class derived from KernelFamily can do what a
/// definition cannot: several launches, blocks that wait for each other, clusters, a model of its times, and elements
/// that depend on the configuration.
struct KernelDefinition {
  /// Letters, digits, and '-', '_', '.', '/', at most 48. The family's name has '@' and a digest of the definition
  /// behind it (describe()), so that two kernels of one name have profiles of their own.
  std::string name;
  std::string meaning;  ///< one line
  /// Any text. With another one, another source, other parameters, geometry or arguments it is another kernel, with
  /// profiles of its own. So change it with anything else that decides what is right or fast: the program's own check.
  std::string version = {};
  std::vector<Axis> axes;
  std::map<std::string, KernelCode> code;  ///< by "cuda", which the emulator runs as well, and "cpu"

  struct Tunable {
    std::string name;
    std::vector<Value> values;  ///< in the order in which they are tried
    std::string meaning = {};   ///< one line
    std::string active = {};    ///< whether it has a meaning, by the parameters before it and the device; empty: always
    std::optional<Value> untuned = {};  ///< one of `values`; nothing: the first
  };
  std::vector<Tunable> parameters;
  std::vector<std::string> constraints;  ///< have to be true of a configuration and a problem
  /// A constraint that is a function of the program: of the parameters alone, since worker processes do not have it.
  /// What depends on sizes or the device is an expression. A tuning run calls it from two threads at a time.
  struct Condition {
    std::string name;  ///< shown when violated
    std::function<bool(const Configuration&)> holds;
  };
  /// Part of what the kernel is by their names alone: change `version` with what they do.
  std::vector<Condition> conditions = {};
  std::vector<KernelArgument> arguments;
  /// What any implementation has to move and to do in one launch. Empty: the bytes of all buffers, an operation per
  /// element of the buffers that are written.
  std::string bytes = {}, operations = {};
  /// Numbers that tables show beside the time: expressions over the sizes, the parameters, and what is measured (`time`
  /// in microseconds, `energy` in joules, `bytes`, `operations`, `registers`, `shared_bytes`, `local_bytes`,
  /// `occupancy`), by their names: {"GFLOP/s", "operations / time / 1e3"}.
  std::vector<std::pair<std::string, std::string>> metrics = {};
  /// The problems of a tuning run that names none; may be empty.
  std::vector<Problem> problems = {};
  /// Odd sizes, at which a configuration is verified beside the problem's own. Empty: 97 on each axis, or its largest
  /// value; the smallest on axes that must be equal.
  Problem awkward = {};
  KernelReference reference = {};
  /// How far outputs may be from those of the reference, as a part of their norm; a single number may be ten times as
  /// far off, see buffer_difference(). Whole numbers have to be equal. Used where the program checks nothing itself.
  double tolerance = 1e-4;
  double absolute_tolerance = 0.0;  ///< reals that are no further apart than this count as equal
  /// Where the files are that fills and the reference name. Not part of what the kernel is.
  std::string folder = {};
  /// Whether such a file may be outside that folder and those below. Not part of what the kernel is.
  bool allow_outside = true;
};

/// Values of arguments that are passed by value, by the arguments' names: their bytes, as a launch passes them.
using KernelNumbers = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// How configurations of a defined kernel are measured. Part of what a worker process is told.
struct KernelExamples {
  /// A folder with the contents of the buffers for each problem (save_example()). Empty: seeded random numbers, from -1
  /// to 1, and whole numbers from 0 to 9.
  std::string folder = {};
  /// Somebody else looks at the outputs: they are not compared with those of the reference.
  bool checked_elsewhere = false;
  /// Calls that a program made and captured, by the texts of their problems: the numbers that they passed, in place of
  /// the definition's. If there are any, the kernel is measured and verified at these problems alone, with contents
  /// from `folder`; files of the definition, which belong to other contents, are not read.
  std::map<std::string, KernelNumbers> calls = {};
};

/// The name of its family: with the digest of all that decides what the kernel computes and how fast, unless the name
/// has one already. Throws Error(input) with what is wrong with the definition.
[[nodiscard]] std::string family_name(const KernelDefinition& kernel);

/// The description under which a defined kernel is added to a registry: `registry.add(describe(kernel))`. The family is
/// called family_name(). Throws what that throws.
/// builtin_families() has its maker, so that every worker process can make it again.
[[nodiscard]] FamilyDescription describe(const KernelDefinition& kernel, const KernelExamples& examples = {});

/// Writes the contents of the buffers for `problem`, all but outputs and scratch, to where a family with `folder` reads
/// them. Throws Error(input) if a buffer is missing or has another size.
void save_example(const std::string& folder, const KernelFamily& family, const Problem& problem,
                  const DeviceIdentity& device, const HostImage& contents);

/// The maker of families from describe().text. Throws Error(input) for a text that describes none, with what is wrong:
/// an expression that cannot be read, a name that nothing has.
[[nodiscard]] std::shared_ptr<const KernelFamily> make_defined_family(const std::string& text);

}  // namespace heddle
