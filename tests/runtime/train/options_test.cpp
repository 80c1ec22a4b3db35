#include "heddle/runtime/train/options.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle {
namespace {

TEST_CASE("the defaults of every trainer are values of its own options") {
  for (const Trainer* trainer : trainers()) {
    OptionValues values(trainer->options());
    for (const Option& option : trainer->options()) {
      INFO(option.name);
      CHECK_FALSE(option.meaning.empty());
      CHECK_FALSE(values.is_set(option.name));
      CHECK_NOTHROW(values.set(option.name, option.default_value));
      CHECK(values.is_set(option.name));
    }
  }
  CHECK(&trainer("sonfin") == trainers().front());
  CHECK_THROWS_WITH_AS(static_cast<void>(trainer("perceptron")),
                       "found the network 'perceptron', expected one of sonfin, tsk, mlp", Error);
}

TEST_CASE("SONFIN's defaults are those of the design") {
  const OptionValues values(trainer("sonfin").options());
  CHECK(values.number("learning-rate") == 0.3);
  CHECK(values.number("antecedent-rate") == 0.15);
  CHECK(values.word("step") == "scaled");
  CHECK(values.number("threshold") == 0.5);
  CHECK(values.number("threshold-decay") == 1.0);
  CHECK(values.number("overlap") == 0.6);
  CHECK(values.number("minimum-width") == 0.001);
  CHECK(values.integer("epochs") == 10);
  CHECK(values.integer("max-rules") == 500);
  CHECK(values.flag("shuffle"));
  CHECK(values.word("scale") == "minmax");
}

TEST_CASE("a value of the wrong kind or out of range is refused in one line, and the old one stays") {
  OptionValues values(trainer("sonfin").options());
  values.set("max-rules", "64");
  for (const char* bad : {"", "0", "-5", "1e3", "abc", "64 ", " 64", "0x10", "99999999999999999999"}) {
    INFO(bad);
    CHECK_THROWS_AS(values.set("max-rules", bad), Error);
  }
  CHECK(values.integer("max-rules") == 64);
  for (const char* bad : {"nan", "inf", "-0.1", "1.01", "0", "0,5"}) {
    INFO(bad);
    CHECK_THROWS_AS(values.set("threshold", bad), Error);
  }
  CHECK_THROWS_WITH_AS(values.set("step", "big"), "--step: found 'big', expected one of scaled, plain", Error);
  CHECK_THROWS_WITH_AS(values.set("max-rules", "0"),
                       "--max-rules: found '0', expected a whole number from 1 to 1048576", Error);
  CHECK_THROWS_AS(values.set("shuffle", "yes"), Error);
  CHECK_THROWS_AS(values.set("colour", "blue"), Error);
  CHECK_THROWS_AS(static_cast<void>(values.word("colour")), std::out_of_range);
}

}  // namespace
}  // namespace heddle
