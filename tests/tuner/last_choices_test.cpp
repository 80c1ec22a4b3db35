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

const Problem kHere({{"size", 1}}), kThere({{"size", 2}});

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

std::vector<std::string> texts_worth_trying(const LastChoices& choices, const char* fastest) {
  std::vector<std::string> texts;
  for (const Configuration& each : choices.worth_trying(space_with_waits().parse(fastest)))
    texts.push_back(each.text());
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
  LastChoices choices(space_with_waits());
  CHECK(texts_worth_trying(choices, "width=8").empty());
  choices.learn(
      kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=1", 1.8}, {"width=8 wait=5", 2.2}, {"width=8 copies=4", 1.9}}));
  // Both together, which nobody tried, before each of them alone.
  const std::vector<std::string> both_first{"width=8 wait=1 copies=4", "width=8 wait=1", "width=8 copies=4"};
  CHECK(texts_worth_trying(choices, "width=8") == both_first);
  // What the fastest has already, in place of other values, and only where it means something.
  CHECK(texts_worth_trying(choices, "width=8 wait=1") ==
        std::vector<std::string>{"width=8 wait=1 copies=4", "width=8 copies=4"});
  CHECK(texts_worth_trying(choices, "width=8 wait=5") == both_first);
  CHECK(texts_worth_trying(choices, "width=1") == std::vector<std::string>{"width=1 copies=4"});
  // On average over two problems: 0.9 and 1.2, 1.1 and 0.8; one without its like beside it says nothing.
  choices.learn(
      kThere,
      costs_of({{"width=8", 1.0}, {"width=8 wait=1", 1.2}, {"width=8 wait=5", 0.8}, {"width=1 copies=4", 0.1}}));
  CHECK(texts_worth_trying(choices, "width=8") ==
        std::vector<std::string>{"width=8 wait=5 copies=4", "width=8 wait=5", "width=8 copies=4"});
  // What is learnt again counts once, in its newer form: 0.9 and 0.8, 1.1 and 0.8.
  choices.learn(kThere, costs_of({{"width=8", 1.0}, {"width=8 wait=1", 0.8}, {"width=8 wait=5", 0.8}}));
  CHECK(texts_worth_trying(choices, "width=8 copies=4") ==
        std::vector<std::string>{"width=8 wait=1 copies=4", "width=8 wait=1", "width=8 wait=5 copies=4", "width=8 wait=5"});
  // Half a percent on average may be noise.
  choices.learn(kThere, costs_of({{"width=8", 1.0}, {"width=8 wait=5", 0.9}}));
  const std::vector<std::string> texts = texts_worth_trying(choices, "width=8");
  CHECK(std::ranges::find(texts, "width=8 wait=1") != texts.end());
  CHECK(std::ranges::find(texts, "width=8 wait=5") == texts.end());
}

TEST_CASE("values that were tried together are worth what they did together") {
  LastChoices choices(space_with_waits());
  choices.learn(kHere, costs_of({{"width=8", 2.0},
                                 {"width=8 wait=1", 1.9},
                                 {"width=8 copies=4", 1.9},
                                 {"width=8 wait=1 copies=4", 2.1}}));
  CHECK(texts_worth_trying(choices, "width=8") == std::vector<std::string>{"width=8 copies=4", "width=8 wait=1"});
  // And the other way round, where they do nothing apart.
  choices.learn(kHere, costs_of({{"width=8", 2.0},
                                 {"width=8 wait=1", 2.0},
                                 {"width=8 copies=4", 2.0},
                                 {"width=8 wait=1 copies=4", 1.8}}));
  CHECK(texts_worth_trying(choices, "width=8").front() == "width=8 wait=1 copies=4");
}

TEST_CASE("a winner is offered what is about as good as what it has, is allowed and was not tried there") {
  LastChoices choices(space_with_waits());
  const SearchSpace all = space_with_waits();
  CHECK_FALSE(choices.untried(all.parse("width=8"), kHere, {}));
  choices.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=1", 1.8}, {"width=8 copies=4", 1.79}}));
  CHECK(choices.untried(all.parse("width=8"), kHere, {})->text() == "width=8 wait=1 copies=4");
  const std::string both = "width=8 wait=1 copies=4";
  CHECK(choices.untried(all.parse("width=8"), kHere, {both})->text() == "width=8 copies=4");
  CHECK(choices.untried(all.parse("width=8 copies=4"), kHere, {both})->text() == "width=8 wait=1");
  CHECK_FALSE(choices.untried(all.parse("width=8 copies=4"), kHere, {both, "width=8 wait=1"}));
  CHECK(choices.untried(all.parse("width=1"), kHere, {})->text() == "width=1 copies=4");
  // Where both are the winner's, one alone is expected to be slower by more than what may be noise.
  CHECK_FALSE(choices.untried(all.parse("width=8 wait=1 copies=4"), kHere, {}));
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
