#include "heddle/bench/common/thread_count.hpp"

#include <utility>
#include <vector>

namespace heddle::bench {

Configuration with_threads(const Configuration& configuration, std::int64_t threads) {
  std::vector<Configuration::Entry> entries = configuration.entries();
  for (auto& [name, value] : entries) {
    if (name == "threads") value = threads;
  }
  return Configuration(std::move(entries));
}

}  // namespace heddle::bench
