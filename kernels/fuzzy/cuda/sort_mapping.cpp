#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/fuzzy/cuda/sort_sizes.cuh"
#include "heddle/kernels/fuzzy/sort.hpp"

namespace heddle::fuzzy {
namespace {

constexpr std::int64_t kWordBytes = 4;
constexpr unsigned kLightThreads = 512;  // of a block of the kernels that only clear and count
constexpr unsigned kLightBlocks = 512;   // at most
constexpr std::int64_t kCountedByThread = 8;
constexpr std::int64_t kMostDigits = 32;  // places for the tile that is taken next, one for each digit
constexpr std::int64_t kWordBits = 32;
constexpr std::int64_t kDigitBits = 8;         // untuned
constexpr std::int64_t kReservedBytes = 1024;  // of shared memory, which CUDA takes for each block

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Values of the parameter "move".
constexpr std::string_view kApart = "apart", kInLastPass = "last_pass";

/// Whether launches can be set up while the one before them runs.
bool launches_overlap(const DeviceIdentity& device) { return device.compute_capability() >= 90; }

bool moves_apart(const Configuration& configuration) { return configuration.word("move") == kApart; }

/// How keys and positions are stored before, between and after the passes: what sort.cuh calls it, and the bytes of a
/// key and its position in shared memory.
struct Form {
  std::string name;
  std::int64_t item_bytes;
};

/// The sizes that follow from threads of a block, keys of a thread and bits of a digit.
struct SortSizes {
  SortSizes(const Configuration& c, const ArrayShape& array)
      : SortSizes(c.number("block_size"), c.number("coarsen_count"), c.number("digit_bits"), array) {}
  SortSizes(std::int64_t threads, std::int64_t keys, std::int64_t bits, const ArrayShape& array)
      : real(real_name(array)),
        block(threads),
        items(keys),
        digit_bits(bits),
        key_bytes(array.bits / 8),
        digits(digits_of_key(static_cast<int>(key_bytes), static_cast<int>(digit_bits))),
        values(std::int64_t{1} << digit_bits),
        tiles(divided_up(array.numbers, block * items)),
        position_bits(std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(array.numbers - 1))))) {}

  std::string_view real;
  std::int64_t block, items, digit_bits, key_bytes, digits, values, tiles, position_bits;

  /// Bits that are left of the keys after so many passes, in whole digits.
  [[nodiscard]] std::int64_t bits_left(std::int64_t passes) const { return (digits - passes) * digit_bits; }
  /// How keys and positions are stored after so many passes (sort.cuh).
  [[nodiscard]] Form form(std::int64_t passes) const {
    const auto stored_as = [](std::string_view name, std::int64_t bytes) {
      return Form{fmt::format("heddle::fuzzy::{}", name), bytes};
    };
    if (passes == 0) return stored_as(fmt::format("Given<{}>", real), key_bytes + kWordBytes);
    if (passes == digits) return stored_as("Sorted", 0);
    if (bits_left(passes) + position_bits <= kWordBits) return stored_as("Packed", kWordBytes);
    if (8 * key_bytes - passes * digit_bits <= kWordBits) return stored_as("Separate<unsigned>", 2 * kWordBytes);
    return stored_as("Separate<unsigned long long>", 3 * kWordBytes);
  }
  /// Of the pass after so many: a tile of keys and positions, counts of every warp, one number for each value, sums of
  /// warps, the number of the tile.
  [[nodiscard]] std::int64_t pass_shared_bytes(std::int64_t passes) const {
    const std::int64_t warps = block / cuda::kWarp;
    return block * items * form(passes).item_bytes + kWordBytes * (warps * values + values + warps + 1);
  }
  [[nodiscard]] std::int64_t count_shared_bytes() const {
    return kWordBytes * digits * values * count_copies(static_cast<int>(key_bytes));
  }
  // In words of the buffer "state".
  [[nodiscard]] std::int64_t histogram(std::int64_t digit) const { return kMostDigits + digit * values; }
  [[nodiscard]] std::int64_t reports(std::int64_t digit) const { return histogram(digits) + digit * tiles * values; }
};

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
    constraints.push_back({.name = "block_size has a thread for each value of a digit",
                           .last = "digit_bits",
                           .holds = [](const Configuration& c, const Problem&, const DeviceIdentity&) {
                             return c.number("block_size") >= 1 << c.number("digit_bits");
                           }});
    constraints.push_back({.name = "keys and slots of a thread fit into its registers",
                           .last = "coarsen_count",
                           .holds = [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
                             constexpr std::int64_t kOthers = 16;
                             return c.number("coarsen_count") * (1 + p.at("bits") / 32) + kOthers <=
                                    cuda::registers_of_thread(c.number("block_size") * c.number("blocks"));
                           }});
    constraints.push_back({.name = "a tile fits into shared memory",
                           .last = "digit_bits",
                           .holds = [encoding](const Configuration& c, const Problem& p, const DeviceIdentity& on) {
                             const SortSizes sizes(c, shape_of(p, encoding, p.at("numbers")));
                             return std::max(sizes.pass_shared_bytes(0), sizes.count_shared_bytes()) <= on.local_bytes;
                           }});
    constraints.push_back({.name = "gather_width divides what lies next to each other",
                           .last = "gather_width",
                           .holds = [encoding](const Configuration& c, const Problem& p, const DeviceIdentity&) {
                             return !moves_apart(c) ||
                                    words_together(shape_of(p, encoding, p.at("numbers"))) % c.number("gather_width") ==
                                        0;
                           }});
    constraints.push_back({.name = "parts are those of an array that the cache does not keep",
                           .last = "gather_parts",
                           .holds = [encoding](const Configuration& c, const Problem& p, const DeviceIdentity& on) {
                             return !moves_apart(c) || c.number("gather_parts") == 1 ||
                                    array_bytes(shape_of(p, encoding, p.at("numbers"))) > kept_bytes(on);
                           }});
    constraints.push_back(
        {.name = "numbers that move in the last pass are 4, 8 or 16 bytes that lie next to each other",
         .last = "move",
         .holds = [encoding](const Configuration& c, const Problem& p, const DeviceIdentity&) {
           return moves_apart(c) || is_one_pack(shape_of(p, encoding, p.at("numbers")));
         }});
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
    const SearchSpace all = space(device, encoding);
    std::string rest = fmt::format(" digit_bits={} same_digit=votes look_back=4", kDigitBits);
    // What was fastest on an H200 (docs/performance.md, "Sort"). Numbers of 8 bytes are faster moved apart.
    constexpr std::int64_t kMovedApart = 2;  // words
    if (is_one_pack(shape) && words_together(shape) != kMovedApart) {
      rest += fmt::format(" move={}", kInLastPass);
    } else {
      std::int64_t width = 4;
      while (words_together(shape) % width != 0) width /= 2;
      const std::int64_t parts = gather_parts(device, shape);
      rest += fmt::format(" move={} gather_width={} gather_block=256 gather_count={} gather_parts={}", kApart, width,
                          parts > 1 ? 4 : 2, parts);
    }
    // Drivers before CUDA 12.3 know nothing of overlapping launches in a graph.
    if (launches_overlap(device)) rest += " launch=ordered";
    return all.parse(default_tile(device, shape) + rest);
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
  /// Threads of a block and keys of a thread. All blocks that are at work together take about as long, so that the time
  /// is that of whole rounds, and a few keys more or less for a thread may save one. The constants are of an H200
  /// (docs/performance.md, "Sort").
  [[nodiscard]] static std::string default_tile(const DeviceIdentity& device, const ArrayShape& shape) {
    constexpr std::int64_t kBlocks = 2;                      // at a multiprocessor
    constexpr std::int64_t kRoom = std::int64_t{96} << 10U;  // of shared memory, for blocks of many threads
    // A tile of any size takes this long, as the time that so many keys of a thread take; and a block that has a
    // multiprocessor to itself this part of its time.
    constexpr double kOverhead = 3, kAlone = 0.6;
    struct Tiles {
      std::int64_t block;
      std::vector<std::int64_t> items;  // larger ones were not faster
    };
    const Tiles tiles = device.local_bytes < kRoom ? Tiles{256, {8, 4}}
                        : shape.is_double()        ? Tiles{384, {18, 16, 15, 14, 12, 10, 8, 4}}
                                                   : Tiles{512, {20, 19, 18, 16, 15, 14, 12, 10, 8, 4}};
    const std::int64_t units = std::max<std::int64_t>(device.units, 1);
    const auto time = [&](std::int64_t items) {
      const SortSizes sizes(tiles.block, items, kDigitBits, shape);
      const std::int64_t bytes = sizes.pass_shared_bytes(0);
      if (bytes > device.local_bytes) return std::numeric_limits<double>::infinity();
      const std::int64_t at_once =
          std::clamp((device.local_bytes + kReservedBytes) / (bytes + kReservedBytes), std::int64_t{1}, kBlocks);
      const auto time_of_round = [&](std::int64_t count) { return count == 0 ? 0.0 : count <= units ? kAlone : 1.0; };
      const std::int64_t rounds = sizes.tiles / (at_once * units);
      return (static_cast<double>(rounds) * time_of_round(at_once * units) +
              time_of_round(sizes.tiles % (at_once * units))) *
             (static_cast<double>(items) + kOverhead);
    };
    return fmt::format("block_size={} blocks={} coarsen_count={}", tiles.block, kBlocks,
                       *std::ranges::min_element(tiles.items, {}, time));
  }
  /// Bytes of an array that stay in the L2 cache while all multiprocessors ask for its numbers: an H200, whose cache
  /// has two halves, behaves as if it had one (docs/performance.md, "Sort"). 0: nothing is known of the cache.
  [[nodiscard]] static std::int64_t kept_bytes(const DeviceIdentity& device) { return device.cache_bytes / 2; }
  [[nodiscard]] static std::int64_t array_bytes(const ArrayShape& shape) {
    return shape.numbers * words_together(shape) * kWordBytes;
  }
  /// Parts of an array, of which each stays in the cache. Only where a miss brings many numbers, and an array has few
  /// parts: else the gather gets slower.
  [[nodiscard]] static std::int64_t gather_parts(const DeviceIdentity& device, const ArrayShape& shape) {
    constexpr std::int64_t kMostParts = 3, kMostWords = 2;
    const std::int64_t kept = kept_bytes(device), bytes = array_bytes(shape);
    return words_together(shape) > kMostWords || bytes > kMostParts * kept ? 1 : divided_up(bytes, kept);
  }
  /// Words of a number that lie next to each other.
  [[nodiscard]] static std::int64_t words_together(const ArrayShape& shape) {
    return (shape.layout == kNumbers ? shape.components() : 1) * (shape.bits / 32);
  }
  /// Whether a thread can move a whole number at once.
  [[nodiscard]] static bool is_one_pack(const ArrayShape& shape) {
    const std::int64_t words = words_together(shape);
    return shape.layout == kNumbers && (words == 1 || words == 2 || words == 4);
  }
};

}  // namespace

const SortMapping& cuda_sort_mapping() {
  static const CudaSortMapping mapping;
  return mapping;
}

}  // namespace heddle::fuzzy
