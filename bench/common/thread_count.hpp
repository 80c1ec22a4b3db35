// Configurations of CPU kernels with another number of threads.
#pragma once

#include <cstdint>

#include "heddle/kernels/search_space.hpp"

namespace heddle::bench {

/// `configuration` with its parameter "threads", if it has one, set to `threads`.
[[nodiscard]] Configuration with_threads(const Configuration& configuration, std::int64_t threads);

}  // namespace heddle::bench
