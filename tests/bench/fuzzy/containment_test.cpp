#include "heddle/bench/fuzzy/containment.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle::bench {
namespace {

constexpr std::int64_t kSamples = 256;

/// A copy of the source with `find` in the file that ends so replaced, once.
class Planted {
 public:
  Planted(const std::string& file, const std::string& find, const std::string& replace) {
    std::vector<SourceFile> files = containment_source().files();
    bool found = false;
    for (SourceFile& one : files) {
      if (!one.name.ends_with(file)) continue;
      std::string& text = texts_.emplace_back(one.text);
      const std::size_t at = text.find(find);
      REQUIRE(at != std::string::npos);
      found = true;
      one.text = text.replace(at, find.size(), replace);
    }
    REQUIRE(found);
    source_ = std::make_unique<TemplateSource>(std::move(files), containment_source().options());
  }
  [[nodiscard]] const TemplateSource& source() const { return *source_; }

 private:
  std::deque<std::string> texts_;
  std::unique_ptr<TemplateSource> source_;
};

/// Of one of the numbers, since most of the time goes into compiling.
std::uint64_t wrong_in(const TemplateSource& source) {
  const std::array<std::string_view, 1> number{"LowerUpper<float, 2>"};
  return check_containment(*open_device("emulator"), kSamples, 3, source, number).front().wrong();
}

TEST_CASE("on the emulator the cuts of random fuzzy numbers contain what they have to, in every operation") {
  const auto device = open_device("emulator");
  const auto all = check_containment(*device, kSamples, 3, containment_source());
  CHECK(all.size() == 4);
  for (const Containment& of : all) {
    CAPTURE(of.number);
    for (std::size_t i = 0; i < of.operations.size(); ++i) {
      CAPTURE(kOperationNames[i]);
      CHECK(of.operations[i].wrong == 0);
      CHECK(of.operations[i].checked > kSamples / 4);
    }
  }
}

TEST_CASE("a product that is contracted, and so rounded to nearest along with the sum after it, is found") {
  CHECK(wrong_in(Planted("fuzzy/series.hpp", "return add_down(multiply_down(factor, x), addend);",
                         "return fused_near(factor, x, addend);")
                     .source()) > 0);
  // As the operators are contracted once they are inlined.
  CHECK(wrong_in(Planted("fuzzy/containment.cuh", "result = a * b + c;", R"({
    using namespace fuzzy::detail;
    for (int i = 0; i < 2; ++i) {
      const Interval<T> x = a.cut(i), y = b.cut(i), z = c.cut(i);
      const auto sum = [](T u, T v, T w) { return fuzzy::fused_near(u, v, w); };
      const T lower = smaller_product(smaller_product(sum(x.lower, y.lower, z.lower), sum(x.lower, y.upper, z.lower)),
                                      smaller_product(sum(x.upper, y.lower, z.lower), sum(x.upper, y.upper, z.lower)));
      const T upper = larger_product(larger_product(sum(x.lower, y.lower, z.upper), sum(x.lower, y.upper, z.upper)),
                                     larger_product(sum(x.upper, y.lower, z.upper), sum(x.upper, y.upper, z.upper)));
      result.set(i, lower != lower ? z : fuzzy::closed(lower, upper));
    }
  })")
                     .source()) > 0);
}

TEST_CASE("a product that is rounded to nearest before a sum is found") {
  CHECK(wrong_in(Planted("fuzzy/rounding.hpp", "HEDDLE_DIRECTED(multiply, __fmul, __dmul)",
                         "HEDDLE_EITHER float multiply_up(float a, float b) { return __fmaf_rn(a, b, 0.0f); }\n"
                         "HEDDLE_EITHER float multiply_down(float a, float b) { return __fmaf_rn(a, b, 0.0f); }\n"
                         "HEDDLE_EITHER float multiply_near(float a, float b) { return __fmaf_rn(a, b, 0.0f); }\n"
                         "HEDDLE_EITHER double multiply_up(double a, double b) { return __fma_rn(a, b, 0.0); }\n"
                         "HEDDLE_EITHER double multiply_down(double a, double b) { return __fma_rn(a, b, 0.0); }\n"
                         "HEDDLE_EITHER double multiply_near(double a, double b) { return __fma_rn(a, b, 0.0); }")
                     .source()) > 0);
}

TEST_CASE("a subnormal number that is flushed to zero is found") {
  CHECK(wrong_in(Planted("fuzzy/rounding.hpp",
                         "HEDDLE_EITHER float NAME##_up(float a, float b) { return FLOAT##_ru(a, b); }",
                         "HEDDLE_EITHER float NAME##_up(float a, float b) { const float exact = FLOAT##_ru(a, b); "
                         "return magnitude(exact) < 1.17549435e-38f ? 0.0f : exact; }")
                     .source()) > 0);
}

TEST_CASE("fast mathematics and flushed denormals are refused when the kernels are compiled") {
  const auto device = open_device("emulator");
  CompileOptions fast = containment_source().options();
  fast.extra.emplace_back("-ffast-math");
  const TemplateSource source(containment_source().files(), fast);
  try {
    (void)check_containment(*device, 1, 1, source);
    FAIL("it was compiled");
  } catch (const DeviceFailure& failure) {
    CHECK(failure.status() == Status::compilation);
    CHECK(std::string(failure.what()).find("without -ffast-math") != std::string::npos);
  }
}

}  // namespace
}  // namespace heddle::bench
