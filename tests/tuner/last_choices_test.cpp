#include "heddle/tuner/last_choices.hpp"

#include <doctest/doctest.h>

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
  CHECK(texts_worth_trying(choices, "width=8") == std::vector<std::string>{"width=8 wait=1", "width=8 copies=4"});
  // What the fastest has already, in place of other values, and only where it means something.
  CHECK(texts_worth_trying(choices, "width=8 wait=1") == std::vector<std::string>{"width=8 copies=4"});
  CHECK(texts_worth_trying(choices, "width=8 wait=5") ==
        std::vector<std::string>{"width=8 wait=1", "width=8 copies=4"});
  CHECK(texts_worth_trying(choices, "width=1") == std::vector<std::string>{"width=1 copies=4"});
  // On average over two problems: 0.9 and 1.2, 1.1 and 0.8; one without its like beside it says nothing.
  choices.learn(
      kThere,
      costs_of({{"width=8", 1.0}, {"width=8 wait=1", 1.2}, {"width=8 wait=5", 0.8}, {"width=1 copies=4", 0.1}}));
  CHECK(texts_worth_trying(choices, "width=8") == std::vector<std::string>{"width=8 wait=5", "width=8 copies=4"});
  // What is learnt again counts once, in its newer form: 0.9 and 0.8, 1.1 and 0.8.
  choices.learn(kThere, costs_of({{"width=8", 1.0}, {"width=8 wait=1", 0.8}, {"width=8 wait=5", 0.8}}));
  CHECK(texts_worth_trying(choices, "width=8") ==
        std::vector<std::string>{"width=8 wait=1", "width=8 wait=5", "width=8 copies=4"});
  // Half a percent on average may be noise.
  choices.learn(kThere, costs_of({{"width=8", 1.0}, {"width=8 wait=5", 0.9}}));
  CHECK(texts_worth_trying(choices, "width=8") == std::vector<std::string>{"width=8 wait=1", "width=8 copies=4"});
}

TEST_CASE("the best of what is chosen last is the best for a winner that has it, too, and is allowed") {
  LastChoices choices(space_with_waits());
  const SearchSpace all = space_with_waits();
  CHECK_FALSE(choices.best(all.parse("width=8"), kHere));
  choices.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=1", 1.8}, {"width=8 copies=4", 1.9}}));
  CHECK(choices.best(all.parse("width=8"), kHere)->text() == "width=8 wait=1");
  CHECK(choices.best(all.parse("width=8 wait=1"), kHere)->text() == "width=8 wait=1");
  CHECK(choices.best(all.parse("width=8 copies=4"), kHere)->text() == "width=8 wait=1");
  CHECK(choices.best(all.parse("width=1"), kHere)->text() == "width=1 copies=4");
}

TEST_CASE("one takes on to find out what is chosen last, for each set of parameters") {
  LastChoices choices(space_with_waits());
  const SearchSpace all = space_with_waits();
  CHECK(choices.take_on(all.parse("width=8")));
  CHECK_FALSE(choices.take_on(all.parse("width=8 wait=1")));
  CHECK(choices.take_on(all.parse("width=1")));
  // Nobody, where most values were measured at a problem; one of them may be a winner of elsewhere.
  LastChoices informed(space_with_waits());
  informed.learn(kHere, costs_of({{"width=8 wait=1", 1.8}, {"width=8 wait=5", 1.8}}));  // beside nothing
  informed.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=1", 1.8}}));
  LastChoices other = informed;
  CHECK(other.take_on(all.parse("width=8")));
  informed.learn(kHere, costs_of({{"width=8", 2.0}, {"width=8 wait=5", 1.8}, {"width=8 copies=4", 2.1}}));
  CHECK_FALSE(informed.take_on(all.parse("width=8")));
}
