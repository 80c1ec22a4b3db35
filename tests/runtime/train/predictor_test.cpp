#include "heddle/runtime/train/rule_predictor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "heddle/kernels/sonfin/reference.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle {
namespace {

TEST_CASE("predictions are the reference's for any number of rows and rules") {
  const std::unique_ptr<Device> device = open_device("cpu");
  for (const std::int64_t dim : {1, 5, 130}) {
    const std::int64_t outputs = dim == 5 ? 1 : 3, cap = 70;
    RulePredictor predictor(*device, {}, dim, outputs, cap);
    for (const std::int64_t rules : {1, 33, 70, 2}) {
      for (const std::int64_t count : {0, 1, 17, 4099}) {
        INFO(rules << " rules " << dim << " inputs " << count << " rows");
        const sonfin::Workload work =
            sonfin::timing_workload(sonfin::problem(rules, dim, outputs), std::max<std::int64_t>(count, 8),
                                    static_cast<std::uint64_t>(7 * rules + count));
        const std::span<const float> rows(work.rows.data(), static_cast<std::size_t>(count * dim));
        const std::vector<float> found = predictor.predict(work.network, rows);
        REQUIRE(found.size() == static_cast<std::size_t>(count * outputs));
        const sonfin::Reference reference(work.network, work.options);
        double off = 0.0, size = 0.0;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto expected =
              reference.predict(rows.subspan(static_cast<std::size_t>(i * dim), static_cast<std::size_t>(dim)));
          for (std::int64_t l = 0; l < outputs; ++l) {
            const double y = expected[static_cast<std::size_t>(l)];
            off += std::pow(static_cast<double>(found[static_cast<std::size_t>(i * outputs + l)]) - y, 2);
            size += y * y;
          }
        }
        CHECK(std::sqrt(off) <= 1e-4 * std::sqrt(size));
      }
    }
    CHECK(predictor.candidate(33).tier == Tier::fallback);
  }
}

}  // namespace
}  // namespace heddle
