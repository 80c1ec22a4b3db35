#include "heddle/tuner/space/listed_space.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace heddle;

namespace {

Configuration make(std::int64_t a, std::int64_t b, const std::string& word) {
  return Configuration({{"a", a}, {"b", b}, {"same", std::int64_t{7}}, {"word", word}});
}

}  // namespace

TEST_CASE("levels follow the order of numbers, and what is the same everywhere is left out") {
  ListedSpace space({make(64, 1, "x"), make(16, 2, "y"), make(32, 1, "x"), make(48, 1, "z")});
  REQUIRE(space.parameters().size() == 3);
  CHECK(space.levels(0)[0] == 3);
  CHECK(space.levels(1)[0] == 0);
  CHECK(space.parameters()[0].position[0] == 0.0F);
  CHECK(space.parameters()[0].position[1] == doctest::Approx(0.5));  // 32 of 16 to 64
  CHECK(space.parameters()[0].evenness[2] < space.parameters()[0].evenness[1]);
  CHECK(space.parameters()[2].position[0] < 0.0F);
  CHECK(space.parameters()[0].octaves == 2.0F);
  CHECK(space.parameters()[0].off_middle[2] == doctest::Approx(1.0 / 6.0));  // 48 of 16 to 64
  CHECK(space.parameters()[1].off_middle[0] < space.parameters()[1].off_middle[1]);
  CHECK(space.parameters()[2].octaves == 0.0F);
}

TEST_CASE("the order of parameters has no influence on distances") {
  const auto turned = [](std::int64_t a, std::int64_t b) { return Configuration({{"b", b}, {"a", a}}); };
  const auto straight = [](std::int64_t a, std::int64_t b) { return Configuration({{"a", a}, {"b", b}}); };
  ListedSpace one({straight(1, 8), straight(2, 4), straight(4, 2)});
  ListedSpace other({turned(1, 8), turned(2, 4), turned(4, 2)});
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) CHECK(one.distance(i, j) == other.distance(i, j));
  }
}

TEST_CASE(
    "a neighbour has another value of one parameter; where constraints forbid the rest, the most alike one is it") {
  // a * b = 64 always: no two configurations differ in one parameter alone, but for the word.
  std::vector<Configuration> list;
  for (const std::string word : {"x", "y"}) {
    for (std::int64_t a = 1; a <= 64; a *= 2) list.push_back(make(a, 64 / a, word));
  }
  ListedSpace space(list);
  const auto near = space.neighbours(3);  // a=8 b=8 x
  CHECK(near.front() == 10);              // a=8 b=8 y
  CHECK(near.size() == 7);                // six other values of a, and the word
  CHECK(std::find(near.begin(), near.end(), std::size_t{3}) == near.end());
  CHECK(std::find(near.begin(), near.end(), std::size_t{2}) != near.end());
  CHECK(std::all_of(near.begin() + 1, near.end(), [](std::size_t i) { return i < 7; }));
}

TEST_CASE("a parameter without a meaning is a level of its own") {
  ListedSpace space({Configuration({{"k", std::int64_t{0}}}),
                     Configuration({{"k", std::int64_t{1}}, {"n", std::int64_t{5}}}),
                     Configuration({{"k", std::int64_t{1}}, {"n", std::int64_t{6}}})});
  REQUIRE(space.parameters().size() == 2);
  CHECK(space.parameters()[1].levels == 3);
  CHECK(space.levels(0)[1] == 2);
  CHECK(space.neighbours(0).size() == 3 - 1);
}

TEST_CASE("a listed space gives back its configurations, knows their numbers, and refuses all others") {
  const std::vector<Configuration> list{
      Configuration({{"k", std::int64_t{0}}, {"same", std::string("s")}}),
      Configuration({{"k", std::int64_t{1}}, {"n", std::int64_t{6}}, {"same", std::string("s")}}),
      Configuration({{"k", std::int64_t{1}}, {"n", std::int64_t{5}}, {"same", std::string("s")}})};
  ListedSpace space(list);
  CHECK(space.count().exact);
  CHECK(space.count().configurations == 3.0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    CHECK(space.configuration(i) == list[i]);
    CHECK(space.find(list[i]) == i);
  }
  CHECK(!space.find(Configuration({{"k", std::int64_t{0}}, {"n", std::int64_t{5}}, {"same", std::string("s")}})));
  CHECK(!space.find(Configuration({{"k", std::int64_t{0}}})));
  CHECK(!space.find(Configuration({{"k", std::int64_t{2}}, {"same", std::string("s")}})));
  CHECK(!space.find(Configuration({{"k", std::int64_t{0}}, {"same", std::string("s")}, {"more", std::int64_t{1}}})));
}
