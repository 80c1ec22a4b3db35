#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/fuzzy/cuda/sort_shape.hpp"
#include "heddle/kernels/fuzzy/cuda/sort_untuned.hpp"

namespace heddle::fuzzy {
namespace {

constexpr unsigned kLightThreads = 512;  // of a block of the kernels that only clear and count
constexpr unsigned kLightBlocks = 512;   // at most
constexpr std::int64_t kCountedByThread = 8;

bool moves_apart(const Configuration& configuration) { return configuration.word("move") == kApart; }

class CudaSortMapping final : public SortMapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/fuzzy/cuda/sort.cuh", compile_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device, Encoding encoding) const override {
    const auto numbers = [](std::initializer_list<std::int64_t> list) {
      return std::vector<Value>(list.begin(), list.end());
    };
    std::vector<Constraint> constraints = sort_constraints();
    // `holds`: of a configuration, the array of a problem, and a device.
    const auto require = [&](const char* name, const char* last, auto holds) {
      constraints.push_back(
          {.name = name,
           .last = last,
           .holds = [encoding, holds](const Configuration& c, const Problem& p, const DeviceIdentity& on) {
             return holds(c, shape_of(p, encoding, p.at("numbers")), on);
           }});
    };
    using C = const Configuration&;
    using Array = const ArrayShape&;
    using Card = const DeviceIdentity&;
    require("block_size has a thread for each value of a digit", "digit_bits",
            [](C c, Array, Card) { return c.number("block_size") >= 1 << c.number("digit_bits"); });
    require("keys and slots of a thread fit into its registers", "coarsen_count", [](C c, Array array, Card) {
      constexpr std::int64_t kOthers = 16;
      return c.number("coarsen_count") * (1 + array.bits / 32) + kOthers <=
             cuda::registers_of_thread(c.number("block_size") * c.number("blocks"));
    });
    require("a tile fits into shared memory", "digit_bits", [](C c, Array array, Card on) {
      const SortSizes sizes(c, array);
      return std::max(sizes.pass_shared_bytes(0), sizes.count_shared_bytes()) <= on.local_bytes;
    });
    require("gather_width divides what lies next to each other", "gather_width", [](C c, Array array, Card) {
      return !moves_apart(c) || words_together(array) % c.number("gather_width") == 0;
    });
    require("parts are those of an array that the cache does not keep", "gather_parts", [](C c, Array array, Card on) {
      return !moves_apart(c) || c.number("gather_parts") == 1 || array_bytes(array) > kept_bytes(on);
    });
    require("numbers that move in the last pass are 4, 8 or 16 bytes that lie next to each other", "move",
            [](C c, Array array, Card) { return moves_apart(c) || is_one_pack(array); });
    std::vector<Parameter> parameters{
        {.name = "block_size",
         .values = numbers({512, 384, 256, 1024, 64}),
         .meaning = "threads of a block of a pass",
         .active = {}},
        {.name = "blocks",
         .values = numbers({2, 3, 1}),
         .meaning = "blocks of a pass that a multiprocessor has registers for",
         .active = {}},
        {.name = "coarsen_count",
         .values = numbers({16, 19, 10, 12, 20, 8, 11, 15, 18, 14, 24, 4}),
         .meaning = "keys of a thread; a tile of a pass has those of a block",
         .active = {}},
        {.name = "digit_bits",
         .values = numbers({8, 7, 6}),
         .meaning = "bits of the keys that one pass sorts by",
         .active = {}},
        {.name = "same_digit",
         .values = {std::string("votes"), std::string("match")},
         .meaning = "how lanes find those with the same digit: a vote for each bit, or the warp's own instruction",
         .active = {}},
        {.name = "look_back",
         .values = numbers({4, 1, 8}),
         .meaning = "tiles before its own that a tile looks at together",
         .active = {}},
        {.name = "move",
         .values = {std::string(kApart), std::string(kInLastPass)},
         .meaning = "where numbers move: in a launch of their own, or along with the keys of the last pass",
         .active = {}},
        {.name = "gather_width",
         .values = numbers({4, 2, 1}),
         .meaning = "words of a number that a thread moves at once",
         .active = moves_apart},
        {.name = "gather_block",
         .values = numbers({256, 512}),
         .meaning = "threads of a block that moves numbers",
         .active = moves_apart},
        {.name = "gather_count",
         .values = numbers({4, 2, 1, 8}),
         .meaning = "loads of numbers that a thread has in flight",
         .active = moves_apart},
        {.name = "gather_parts",
         .values = numbers({1, 2, 3}),
         .meaning = "parts of an array, of which one after the other is in the L2 cache while its numbers move",
         .active = moves_apart}};
    if (launches_overlap(device)) {
      parameters.push_back({.name = "launch",
                            .values = {std::string("ordered"), std::string("overlapped")},
                            .meaning = "whether a launch is set up while the one before it runs",
                            .active = {}});
    }
    return {device, std::move(parameters), std::move(constraints)};
  }

  Configuration default_configuration(const DeviceIdentity& device, Encoding encoding,
                                      const ArrayShape& shape) const override {
    return space(device, encoding).parse(untuned_sort(device, shape));
  }

  void add(Plan& plan, const Configuration& configuration, const ArrayShape& shape) const override {
    const SortSizes sizes(configuration, shape);
    const auto count = int32(shape.numbers);
    const int moved = kSortBuffers;  // keys and positions, twice each: passes go from one to the other
    const int state = moved + 4;
    for (const char* const name : {"even_keys", "odd_keys"}) {
      plan.buffers.push_back({name, shape.numbers * sizes.key_bytes, Role::scratch});
    }
    for (const char* const name : {"even_positions", "odd_positions"}) {
      plan.buffers.push_back({name, shape.numbers * kWordBytes, Role::scratch});
    }
    const std::int64_t state_words = sizes.reports(sizes.digits);
    plan.buffers.push_back({"state", state_words * kWordBytes, Role::scratch});
    const auto word = [&](std::int64_t at) { return BufferArgument{state, at * kWordBytes}; };
    const auto few = [](std::int64_t work, std::int64_t of_block) {
      return Extent{.x = std::min(kLightBlocks, blocks(work, of_block).x)};
    };

    plan.launches.push_back({.kernel = plan.kernel("heddle::fuzzy::sort_begin"),
                             .grid = few(state_words, kLightThreads),
                             .block = {.x = kLightThreads},
                             .arguments = {word(0), state_words}});
    plan.launches.push_back(
        {.kernel = plan.kernel(fmt::format("heddle::fuzzy::sort_count<{}, {}, {}, {}>", real_name(shape), kLightThreads,
                                           kCountedByThread, sizes.digit_bits)),
         .grid = few(shape.numbers, kLightThreads * kCountedByThread),
         .block = {.x = kLightThreads},
         .shared_bytes = sizes.count_shared_bytes(),
         .arguments = {BufferArgument{kSortKeys}, word(sizes.histogram(0)), count}});
    for (std::int64_t digit = 0; digit < sizes.digits; ++digit) {
      const bool first = digit == 0, last = digit == sizes.digits - 1;
      const int to = int32(digit % 2), from = 1 - to;
      plan.launches.push_back(
          {.kernel = plan.kernel(pass_name(sizes, configuration, shape, digit)),
           .grid = {.x = static_cast<unsigned>(sizes.tiles)},
           .block = {.x = static_cast<unsigned>(sizes.block)},
           .shared_bytes = sizes.pass_shared_bytes(digit),
           .arguments = {BufferArgument{first ? kSortKeys : moved + from}, BufferArgument{moved + 2 + from},
                         BufferArgument{moved + to}, BufferArgument{last ? kSortPositions : moved + 2 + to},
                         word(sizes.histogram(digit)), word(digit), word(sizes.reports(digit)),
                         BufferArgument{kSortNumbers}, BufferArgument{kSorted}, int32(sizes.bits_left(digit + 1)),
                         count}});
    }
    if (moves_apart(configuration)) add_gather(plan, configuration, shape);
    plan.captured = true;
    const bool overlapped = configuration.has("launch") && configuration.word("launch") == "overlapped";
    for (std::size_t i = 1; i < plan.launches.size(); ++i) plan.launches[i].programmatic = overlapped;
  }

 private:
  static std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }
  static Extent blocks(std::int64_t work, std::int64_t of_block) {
    return {.x = static_cast<unsigned>(divided_up(work, of_block))};
  }
  static std::string pass_name(const SortSizes& sizes, const Configuration& configuration, const ArrayShape& shape,
                               std::int64_t digit) {
    const bool moves = digit == sizes.digits - 1 && !moves_apart(configuration);
    return fmt::format("heddle::fuzzy::sort_pass<{}, {}, {}, {}, {}, {}, heddle::fuzzy::SameDigit::{}, {}, {}>",
                       sizes.form(digit).name, sizes.form(digit + 1).name, sizes.block, configuration.number("blocks"),
                       sizes.items, sizes.digit_bits, configuration.word("same_digit"),
                       configuration.number("look_back"), moves ? words_together(shape) : 0);
  }
  /// The launch that moves numbers.
  static void add_gather(Plan& plan, const Configuration& configuration, const ArrayShape& shape) {
    const std::int64_t width = configuration.number("gather_width"),
                       gather_block = configuration.number("gather_block");
    const std::int64_t of_number = words_together(shape) / width, gather_count = configuration.number("gather_count");
    Extent grid = blocks(shape.numbers * of_number, gather_block * gather_count);
    const std::int64_t parts = configuration.number("gather_parts");
    grid.y = static_cast<unsigned>(parts * (shape.layout == kCuts ? shape.components() : 1));
    plan.launches.push_back({.kernel = plan.kernel(fmt::format("heddle::fuzzy::sort_gather<{}, {}, {}, {}>", width,
                                                               of_number, gather_block, gather_count)),
                             .grid = grid,
                             .block = {.x = static_cast<unsigned>(gather_block)},
                             .arguments = {BufferArgument{kSortNumbers}, BufferArgument{kSortPositions},
                                           BufferArgument{kSorted}, int32(parts), int32(shape.numbers)}});
  }
};

}  // namespace

const SortMapping& cuda_sort_mapping() {
  static const CudaSortMapping mapping;
  return mapping;
}

}  // namespace heddle::fuzzy
