// Reproducible permutations: the same on every platform, whatever its standard library.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle {

/// A permutation of 0 .. count-1 that depends on its arguments alone: Fisher and Yates with SplitMix64 (Steele, Lea and
/// Flood 2014), started from `seed` and `stream`. The trainers take the epoch, from 1, as the stream, so that a resumed
/// run sees the same rows; stream 0 parts off the validation rows. count < 2^31.
[[nodiscard]] std::vector<std::int32_t> permutation(std::int64_t count, std::uint64_t seed, std::uint64_t stream);

}  // namespace heddle
