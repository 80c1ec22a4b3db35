// Checks on a device that the cuts of random fuzzy numbers contain what they have to, in twice the digits of a double.
//
//   fuzzy_containment [DEVICE [SAMPLES [SEED]]]
//
// Prints a line for each encoding, type and operation. Exit code 1 if a cut leaves something out.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/fuzzy/containment.hpp"
#include "heddle/bench/fuzzy/origin.hpp"
#include "heddle/kernels/error.hpp"

namespace heddle::bench {
namespace {

template <class Number>
Number number_from(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    throw Error(ErrorKind::usage, fmt::format("found '{}', expected a whole number of at least 1", text));
  }
  return number;
}

int check(int count, char** words) {
  if (count > 4) throw Error(ErrorKind::usage, "usage: fuzzy_containment [DEVICE [SAMPLES [SEED]]]");
  const auto device = open_device(count > 1 ? words[1] : "cuda:0");
  const auto samples = count > 2 ? number_from<std::int64_t>(words[2]) : std::int64_t{100'000'000};
  const auto seed = count > 3 ? number_from<std::uint64_t>(words[3]) : std::uint64_t{1};
  const Stopwatch stopwatch;
  std::uint64_t wrong = 0;
  print_origin(*device);
  fmt::print("# templates {}\n", containment_source().hash());
  fmt::print("{} samples of seed {} on {}\n", samples, seed, device->identity().name);
  for (const Containment& of : check_containment(*device, samples, seed, containment_source())) {
    for (std::size_t i = 0; i < of.operations.size(); ++i) {
      const ContainmentCount& one = of.operations[i];
      fmt::print("{:<26} {:<10} {:>11} checked {:>4} wrong{}\n", of.number, kOperationNames[i], one.checked, one.wrong,
                 one.wrong == 0 ? "" : fmt::format(", the first is sample {}", one.first_wrong));
    }
    wrong += of.wrong();
  }
  fmt::print("{} violations in {:.1f} s\n", wrong, stopwatch.seconds());
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heddle::bench

int main(int count, char** words) {
  return heddle::bench::exit_code("fuzzy_containment", [&] { return heddle::bench::check(count, words); });
}
