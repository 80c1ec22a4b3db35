#include "heddle/tuner/last_choices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace heddle;

namespace {

const Problem kHere({{"size", 1}}), kThere({{"size", 2}}), kOther({{"size", 3}});

/// Waits mean something for wide ones alone, copies for all.
SearchSpace space_with_waits() {
  return {{"fake", "any", "1", 1, 1, 1, 1},
          {{.name = "width", .values = {std::int64_t{1}, std::int64_t{8}}, .meaning = "", .active = {}},
           {.name = "wait",
            .values = {std::int64_t{3}, std::int64_t{1}, std::int64_t{5}},
            .meaning = "",
            .active = [](const Configuration& c) { return c.number("width") == 8; },
            .chosen_last = true},
           {.name = "copies",
            .values = {std::int64_t{8}, std::int64_t{4}},
            .meaning = "",
            .active = {},
            .chosen_last = true}},
          {}};
}

std::vector<std::string> texts_worth_trying(const LastChoices& choices, const Problem& problem, double fastest) {
  std::vector<std::string> texts;
  for (const Configuration& each : choices.worth_trying(problem, fastest, 100)) texts.push_back(each.text());
  return texts;
}

std::vector<std::pair<Configuration, double>> costs_of(const std::vector<std::pair<const char*, double>>& texts) {
  std::vector<std::pair<Configuration, double>> all;
  all.reserve(texts.size());
  for (const auto& [text, cost] : texts) all.emplace_back(space_with_waits().parse(text), cost);
  return all;
}

}  // namespace

TEST_CASE("values chosen last are worth trying where others were faster with them, the best on average first") {
  using Texts = std::vector<std::string>;
  LastChoices choices(space_with_waits());
  const auto learn = [&](const Problem& problem, const std::vector<std::pair<const char*, double>>& costs) {
    choices.learn(problem, costs_of(costs));
  };
  CHECK(texts_worth_trying(choices, kHere, 2.0).empty());
  learn(kOther, {{"width=8", 2.0}});
  CHECK(texts_worth_trying(choices, kOther, 2.0).empty());
  learn(kHere, {{"width=8", 2.0}, {"width=8 wait=1", 1.8}, {"width=8 wait=5", 2.2}, {"width=8 copies=4", 1.9}});
  // Both together, which nobody tried, before each of them alone.
  CHECK(texts_worth_trying(choices, kOther, 2.0) ==
        Texts{"width=8 wait=1 copies=4", "width=8 wait=1", "width=8 copies=4"});
  // What is not expected to be faster than the fastest is not worth it; what is slow without them may be, but only with
  // what has a meaning there.
  CHECK(texts_worth_trying(choices, kOther, 1.8) == Texts{"width=8 wait=1 copies=4"});
  CHECK(texts_worth_trying(choices, kOther, 1.7).empty());
  learn(kOther, {{"width=1", 1.97}});
  CHECK(texts_worth_trying(choices, kOther, 1.91) ==
        Texts{"width=8 wait=1 copies=4", "width=8 wait=1", "width=1 copies=4"});
  // On average over two problems: 0.9 and 1.2, 1.1 and 0.8; one without its like beside it says nothing.
  learn(kThere, {{"width=8", 1.0}, {"width=8 wait=1", 1.2}, {"width=8 wait=5", 0.8}, {"width=1 copies=4", 0.1}});
  CHECK(texts_worth_trying(choices, kOther, 1.97) ==
        Texts{"width=8 wait=5 copies=4", "width=8 wait=5", "width=1 copies=4", "width=8 copies=4"});
  // What is learnt again counts once, in its newer form: 0.9 and 0.8, 1.1 and 0.8.
  learn(kThere, {{"width=8", 1.0}, {"width=8 wait=1", 0.8}, {"width=8 wait=5", 0.8}});
  CHECK(texts_worth_trying(choices, kOther, 1.93) == Texts{"width=8 wait=1 copies=4", "width=8 wait=1",
                                                           "width=8 wait=5 copies=4", "width=8 wait=5",
                                                           "width=1 copies=4"});
  // Half a percent on average may be noise.
  learn(kThere, {{"width=8", 1.0}, {"width=8 wait=5", 0.9}});
  const Texts texts = texts_worth_trying(choices, kOther, 2.0);
  CHECK(std::ranges::find(texts, "width=8 wait=1") != texts.end());
  CHECK(std::ranges::find(texts, "width=8 wait=5") == texts.end());
}

TEST_CASE("values that were tried together are worth what they did together") {
  LastChoices choices(space_with_waits());
  choices.learn(kOther, costs_of({{"width=8", 2.0}}));
  choices.learn(
      kHere,
      costs_of(
          {{"width=8", 2.0}, {"width=8 wait=1", 1.9}, {"width=8 copies=4", 1.89}, {"width=8 wait=1 copies=4", 2.1}}));
  CHECK(texts_worth_trying(choices, kOther, 2.0) == std::vector<std::string>{"width=8 copies=4", "width=8 wait=1"});
  // And the other way round, where they do nothing apart.
  choices.learn(
      kHere,
      costs_of(
          {{"width=8", 2.0}, {"width=8 wait=1", 2.0}, {"width=8 copies=4", 2.0}, {"width=8 wait=1 copies=4", 1.8}}));
  CHECK(texts_worth_trying(choices, kOther, 2.0).front() == "width=8 wait=1 copies=4");
}

TEST_CASE("a winner is followed by what may be as fast, is allowed and was not tried there") {
  LastChoices choices(space_with_waits());
  CHECK_FALSE(choices.untried(kHere, 2.0, {}));
  choices.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=1", 1.8}, {"width=8 copies=4", 1.79}}));
  const std::string both = "width=8 wait=1 copies=4";
  CHECK(choices.untried(kHere, 2.0, {})->text() == both);
  CHECK(choices.untried(kHere, 2.0, {both})->text() == "width=8 copies=4");
  CHECK(choices.untried(kHere, 1.84, {both, "width=8 copies=4"})->text() == "width=8 wait=1");
  CHECK_FALSE(choices.untried(kHere, 1.84, {both, "width=8 copies=4", "width=8 wait=1"}));
  // Both are expected at 1.69: a winner with 1.68 may be noise, with 1.66 it is faster.
  CHECK(choices.untried(kHere, 1.68, {})->text() == both);
  CHECK_FALSE(choices.untried(kHere, 1.66, {}));
}

TEST_CASE("a trial is compared with what was measured there before, so that what was good by chance is not tried on") {
  LastChoices choices(space_with_waits());
  choices.learn(kThere, costs_of({{"width=8", 2.0}}));
  choices.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 copies=4", 1.9}}));
  CHECK(choices.untried(kThere, 2.0, {})->text() == "width=8 copies=4");
  // A visit for the trial alone: the one without it is not among its costs.
  choices.learn(kOther, costs_of({{"width=8", 2.0}}));
  choices.learn(kOther, costs_of({{"width=8 copies=4", 2.2}}));
  CHECK_FALSE(choices.untried(kThere, 1.98, {}));
  CHECK(*choices.cost(kOther, "width=8 copies=4") == 2.2);
  CHECK_FALSE(choices.cost(kThere, "width=8 copies=4"));
}

TEST_CASE("nothing is expected of what turned out to be wrong") {
  LastChoices choices(space_with_waits());
  choices.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 copies=4", 1.9}}));
  choices.learn(kThere, costs_of({{"width=8", 1.0}, {"width=1", 1.1}}));
  CHECK(choices.untried(kThere, 1.05, {})->text() == "width=8 copies=4");
  choices.forget(kThere, space_with_waits().parse("width=8"));
  CHECK(choices.untried(kThere, 1.09, {})->text() == "width=1 copies=4");
}

TEST_CASE("a few take on to find out what is chosen last, for each set of parameters") {
  LastChoices choices(space_with_waits());
  const SearchSpace all = space_with_waits();
  const auto problem = [](std::int64_t size) { return Problem({{"size", size}}); };
  CHECK(choices.take_on(all.parse("width=8"), problem(1)));
  CHECK_FALSE(choices.take_on(all.parse("width=8 wait=1"), problem(1)));  // the same problem once more
  CHECK(choices.take_on(all.parse("width=8 wait=1"), problem(2)));
  CHECK(choices.take_on(all.parse("width=8"), problem(3)));
  CHECK_FALSE(choices.take_on(all.parse("width=8"), problem(4)));
  CHECK(choices.take_on(all.parse("width=1"), problem(4)));
  // A problem where most values were measured is one of them; one value may be a winner of elsewhere.
  LastChoices informed(space_with_waits());
  informed.learn(problem(1), costs_of({{"width=8 wait=1", 1.8}, {"width=8 wait=5", 1.8}}));  // beside nothing
  informed.learn(problem(1), costs_of({{"width=8", 2.0}, {"width=8 wait=1", 1.8}}));
  LastChoices other = informed;
  CHECK(other.take_on(all.parse("width=8"), problem(1)));
  informed.learn(problem(1), costs_of({{"width=8", 2.0}, {"width=8 wait=5", 1.8}, {"width=8 copies=4", 2.1}}));
  CHECK_FALSE(informed.take_on(all.parse("width=8"), problem(1)));
}

TEST_CASE("who takes it on draws values together that nobody tried together") {
  LastChoices choices(space_with_waits());
  const auto texts = [&](const char* fastest) {
    std::set<std::string> found;
    for (const Configuration& each : choices.drawn(space_with_waits().parse(fastest), 20)) found.insert(each.text());
    return found;
  };
  CHECK(texts("width=8 wait=1") == std::set<std::string>{"width=8 wait=1 copies=4", "width=8 wait=5 copies=4"});
  CHECK(texts("width=1").empty());
  choices.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=5 copies=4", 2.0}}));
  CHECK(texts("width=8") == std::set<std::string>{"width=8 wait=1 copies=4"});
  CHECK(choices.drawn(space_with_waits().parse("width=8"), 0).empty());
}
