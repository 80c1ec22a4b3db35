// Words from data, file names, options and models reach a terminal as letters only, in lines that can be read.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::test {
namespace {

/// An escape sequence, its one-character form, text from right to left, bytes that are no UTF-8, and very many bytes.
const std::vector<std::string>& hostile_words() {
  static const std::vector<std::string> words{"\x1b[31mred\x1b]0;title\x07",
                                              "\302\23331m",
                                              "\342\200\256drow",
                                              "\xff\xc3\x28",
                                              "long" + std::string(100'000, 'x'),
                                              std::string(3000, '\x1b')};
  return words;
}

void check_shown(const std::string& text, std::size_t longest) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK(printable(line) == line);
    CAPTURE(line.substr(0, 300));
    CHECK(columns(line) <= longest);
  }
}

Outcome shown(const Workplace& place, const std::vector<std::string>& arguments, int code, std::size_t longest = 1010) {
  Outcome outcome = place.run(arguments);
  CAPTURE(arguments.front());
  CAPTURE(outcome.err.substr(0, 2000));
  CHECK(outcome.code == code);
  check_shown(outcome.err, longest);
  check_shown(outcome.out, longest);
  return outcome;
}

TEST_CASE("classes and column names") {
  const Workplace place;
  for (const std::string& word : hostile_words()) {
    CAPTURE(printable(word.substr(0, 40)));
    const std::string names = fmt::format("{0}1,{0}2,class\n", word);
    std::string rows;
    for (int i = 0; i < 20; ++i) rows += fmt::format("{},1,{}\n", i, i % 2 == 0 ? word : "other");
    const std::string data = place.write("d.csv", names + rows);
    shown(place, {"train", data, "--header", "--device", "cpu", "--epochs", "1", "--model", "m"}, 0);
    const Outcome inspected = shown(place, {"inspect", "m"}, 0);
    CHECK(inspected.out.find("IF ") != std::string::npos);
    shown(place, {"inspect", "m", "--json"}, 0, 1'000'000);
    shown(place, {"predict", "m", data, "--header", "--device", "cpu", "--json"}, 0, 1'000'000);

    // As data they stay what they are.
    REQUIRE(place.run({"predict", "m", data, "--header", "--device", "cpu", "--output", "o.csv"}).code == 0);
    CHECK(place.read("o.csv").find(word) != std::string::npos);

    // In errors: a class that is not known, a word for a number, a header that is none, a ragged row.
    const std::string other = place.write("e.csv", "1,2,other\n1,2," + word + "!\n");
    shown(place, {"predict", "m", other, "--device", "cpu"}, 3);
    shown(place, {"train", place.write("f.csv", "1,2,x\n3," + word + ",y\n"), "--device", "cpu"}, 3);
    shown(place, {"train", place.write("g.csv", "1," + word + ",x\n3,4,y\n"), "--device", "cpu"}, 3);
    shown(place, {"train", place.write("h.csv", "1,2,x\n3,4,y," + word + "\n"), "--device", "cpu"}, 3);
    shown(place, {"train", data, "--header", "--label", word + "0", "--device", "cpu"}, 2);
    shown(place, {"train", data, "--label", "file:" + word, "--device", "cpu"}, 3);
  }
}

TEST_CASE("options, arguments and file names") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(20, 3, 2, 1));
  for (const std::string& word : hostile_words()) {
    CAPTURE(printable(word.substr(0, 40)));
    shown(place, {word}, 2);
    shown(place, {"train", data, "--" + word}, 2);
    shown(place, {"train", data, word}, 2);
    shown(place, {"train", data, "--quiet=" + word}, 2);
    shown(place, {"train", data, "--epochs", word}, 2);
    shown(place, {"train", data, "--network", word}, 2);
    shown(place, {"train", data, "--device", word}, 4);
    shown(place, {"train", word}, 3);
    shown(place, {"train", data, "--model", "none/" + word}, 3);
    shown(place, {"tune", "--strategy", word}, 2);
    shown(place, {"tune", "--family", word}, 2);
    shown(place, {"tune", "--device", word}, 4);
    shown(place, {"profiles", "import", word}, 3);
    shown(place, {"search-benchmark", word}, 3);
    if (word.size() > 200) continue;  // no file has such a name
    std::filesystem::copy_file(data, place.path(word + ".csv"));
    shown(place, {"train", word + ".csv", "--device", "cpu", "--epochs", "1", "--model", word}, 0);
    shown(place, {"inspect", word}, 0);
    shown(place, {"predict", word, word + ".csv", "--device", "cpu", "--output", word + ".out"}, 0);
    shown(place, {"predict", word, word + ".csv", "--device", "cpu", "--json"}, 0);
    shown(place, {"profiles", "list", "--profiles", word + ".csv"}, 5);
  }
}

TEST_CASE("a document names classes so that every parser reads them") {
  const Workplace place;
  const std::string data =
      place.write("d.csv", "1,\xc3\xa9t\xc3\xa9\n2,h\xc2\x9biver\n1,\xc3\xa9t\xc3\xa9\n2,h\xc2\x9biver\n");
  REQUIRE(place.run({"train", data, "--device", "cpu", "--epochs", "1", "--model", "m"}).code == 0);
  const Outcome outcome = place.run({"predict", "m", data, "--device", "cpu", "--json"});
  REQUIRE(outcome.code == 0);
  for (const char c : outcome.out) CHECK((c == '\n' || (c >= ' ' && c < '\x7f')));
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  CHECK(document["predictions"][0] == "\xc3\xa9t\xc3\xa9");
  CHECK(document["predictions"][1] == "h\xc2\x9biver");
}

TEST_CASE("what is to be read is not written over") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(20, 3, 2, 1)), before = place.read("data.csv");
  check_refused(place.run({"train", data, "--device", "cpu", "--model", data}), 2, {"--model", "data.csv"});
  check_refused(place.run({"train", data, "--device", "cpu", "--model", "./data.csv"}), 2, {"--model", "data.csv"});
  REQUIRE(place.run({"train", data, "--device", "cpu", "--epochs", "1", "--model", "m"}).code == 0);
  check_refused(place.run({"predict", "m", data, "--device", "cpu", "--output", "m"}), 2, {"--output", "'m'"});
  CHECK(place.read("data.csv") == before);
}

TEST_CASE("the profile database and what a recording is made from are not written over") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(20, 3, 2, 1));
  const std::string database = place.path("p.sqlite").string();
  REQUIRE(place
              .run({"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "8", "--dim", "3", "--outputs",
                    "2", "--evaluations", "2", "--profiles", database})
              .code == 0);
  REQUIRE(place.run({"train", data, "--device", "cpu", "--epochs", "1", "--model", "m"}).code == 0);
  const std::string before = place.read("p.sqlite");
  std::filesystem::create_symlink("p.sqlite", place.path("link"));
  for (const char* name : {"p.sqlite", "./p.sqlite", "link", "p.sqlite-wal"}) {
    const std::vector<std::string> words{name, "profile database"};
    check_refused(place.run({"profiles", "export", name, "--profiles", database}), 2, words);
    check_refused(place.run({"train", data, "--device", "cpu", "--model", name, "--profiles", "link"}), 2, words);
    check_refused(place.run({"train", data, "--device", "cpu", "--log", name, "--profiles", database}), 2, words);
    check_refused(place.run({"predict", "m", data, "--device", "cpu", "--output", name, "--profiles", database}), 2,
                  words);
    check_refused(place.run({"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "8", "--dim", "3",
                             "--outputs", "2", "--evaluations", "2", "--profiles", database, "--record", name}),
                  2, words);
  }
  CHECK(place.read("p.sqlite") == before);

  const std::filesystem::path example = std::filesystem::path(HEDDLE_SOURCE) / "examples" / "kernel";
  std::filesystem::copy(example, place.path("kernel"), std::filesystem::copy_options::recursive);
  const std::string description = place.read("kernel/scale.json");
  check_refused(place.run({"tune", "--device", "emulator", "--kernel", "kernel/scale.json", "--size", "n=100",
                           "--evaluations", "1", "--record", "kernel/scale.json"}),
                2, {"--record", "is to be read"});
  CHECK(place.read("kernel/scale.json") == description);
}

}  // namespace
}  // namespace heddle::test
