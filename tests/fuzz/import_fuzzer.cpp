// For libFuzzer: `cmake --build build/release --target fuzz_import`, then fuzz_import -max_total_time=600.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/import_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heddle::test::import_once(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
