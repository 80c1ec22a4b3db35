// Data files of FANN and of Toman: read, written, and counts that lie.
#include "heddle/runtime/data/sample_file.hpp"

#include <doctest/doctest.h>

#include <set>

#include "runtime/data/data_folder.hpp"

namespace heddle {
namespace {

using Floats = std::vector<float>;

const DataOptions kNumbers{.task = Task::regress};

constexpr const char* kToman =
    "#Training set\n#inputs\n2\nx1 0.0 1.0\nx2 -1.0 1.0\n#outputs\n1\nout 0.0 2.0\n#patterns\n3\n0.62 0.516 | 0.0\n"
    "0.1 -1 | 1\n0 0.25 | 2\n";
constexpr const char* kFann = "2 2 1\n-1 1\n1\n-1 -1\n-1\n";

std::string refused_samples(const std::string& text, const DataOptions& options) {
  const DataFolder folder;
  return refusal(folder, ErrorKind::input, [&] { (void)load_dataset(folder.write("f", text), options); });
}

Dataset read_samples(const std::string& text, const DataOptions& options) {
  const DataFolder folder;
  return load_dataset(folder.write("f", text), options);
}

TEST_CASE("Toman's format is recognised and read: names, ranges, rows") {
  const Dataset data = read_samples(kToman, kNumbers);
  CHECK(data.inputs == Floats{0.62F, 0.516F, 0.1F, -1.0F, 0.0F, 0.25F});
  CHECK(data.targets == Floats{0, 1, 2});
  CHECK(data.input_names == std::vector<std::string>{"x1", "x2"});
  CHECK(data.target_names == std::vector<std::string>{"out"});
  REQUIRE(data.input_ranges.size() == 2);
  CHECK(data.input_ranges[1].low == -1.0F);
  CHECK(data.target_ranges[0].high == 2.0F);
  CHECK(data.remarks.empty());
  CHECK(read_samples("1\nx 0 1\n1\ny 0 1\n1\n3 | 4\n", kNumbers).remarks.size() ==
        1);  // without comments; both outside
}

TEST_CASE("FANN's format is recognised and read, whatever lines the numbers are on") {
  const Dataset data = read_samples(kFann, {});
  CHECK(data.inputs == Floats{-1, 1, -1, -1});
  CHECK(data.classes == std::vector<std::string>{"-1", "1"});
  CHECK(data.labels == std::vector<std::int32_t>{1, 0});
  const Dataset same = read_samples("2 2 1 \n-1 1 1\n-1\n-1 -1\n", {.format = DataFormat::fann});
  CHECK(same.inputs == data.inputs);
  CHECK(same.labels == data.labels);
  CHECK(read_samples("2 3 3\n1 2 3\n0 0 1\n4 5 6\n1 0 0\n", {}).classes == std::vector<std::string>{"1", "2", "3"});
  CHECK(read_samples("2 3 1\n3 2 2\n4 5 1\n", {}).dim == 2);  // a table of three columns
}

TEST_CASE("several outputs are classes where one of them is 1") {
  const std::string head = "1\nx 0 9\n2\ncat 0 1\ndog 0 1\n2\n";
  const Dataset data = read_samples(head + "5 | 0 1\n6 | 1 0\n", {});
  CHECK(data.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(data.labels == std::vector<std::int32_t>{1, 0});
  CHECK(refused_samples(head + "5 | 0 1\n6 | 1 1\n", {}).starts_with("f:8:4: found a second 1"));
  CHECK(refused_samples(head + "5 | 0 1\n6 | 0 0.5\n", {}).starts_with("f:8:4: found '0.5'"));
  CHECK(refused_samples(head + "5 | 0 1\n6 | 0 0\n", {}).starts_with("f:8:3: found no output of 1"));
  CHECK(refused_samples("1\nx 0 9\n2\ncat 0 1\ncow 0 1\n1\n5 | 0 1\n", {.expected = expectation(data)})
            .find("cat, dog") != std::string::npos);
}

TEST_CASE("a class with two outputs is refused, and none is written") {
  const std::string twice = "1\nx 0 9\n3\ncat 0 1\ndog 0 1\ncat 0 1\n2\n5 | 0 1 0\n6 | 1 0 0\n";
  CHECK(refused_samples(twice, {}) ==
        "f: found two outputs for the class 'cat', expected each class once, or --task regress");
  CHECK(read_samples(twice, kNumbers).targets_per_row == 3);
  // All become a_b without blanks.
  const Dataset data = read_samples("a b,a_b,kind\n1,2,a b\n3,4,x\n5,7,a_b\n2,2,a#b\n", {.header = Header::present});
  const Dataset back = read_samples(toman_text(data), {});
  CHECK(data.classes == std::vector<std::string>{"a b", "a#b", "a_b", "x"});
  CHECK(back.classes == std::vector<std::string>{"a_b_2", "a_b_3", "a_b", "x"});
  CHECK(back.labels == data.labels);
  CHECK(back.input_names == std::vector<std::string>{"a_b_2", "a_b"});
}

TEST_CASE("one output is a class by its value, however it is spelled") {
  const Dataset data = read_samples("6 2 1\n1 2\n1\n2 3\n1.0\n3 4\n0\n4 1\n0.0\n5 5\n1e0\n6 6\n-0\n", {});
  CHECK(data.classes == std::vector<std::string>{"0", "1"});
  CHECK(data.labels == std::vector<std::int32_t>{1, 1, 0, 0, 1, 0});
  const std::string later = "2 2 1\n1 2\n1.000000e+00\n2 3\n0.000000e+00\n";
  CHECK(read_samples(later, {.expected = expectation(data)}).labels == std::vector<std::int32_t>{1, 0});
  CHECK(refused_samples("1 2 1\n1 2\n2\n", {.expected = expectation(data)}) ==
        "f:3:1: found '2', expected a class of the training rows: 0, 1");
  // In a table, and in models of before, a class is what is spelled.
  const Dataset table = read_samples("1,2,1.0\n3,4,0.50\n", {});
  CHECK(table.classes == std::vector<std::string>{"0.50", "1.0"});
  CHECK(read_samples("2 2 1\n1 2\n1\n2 3\n5e-1\n", {.expected = expectation(table)}).labels ==
        std::vector<std::int32_t>{1, 0});
  const Dataset large = read_samples("3 1 1\n1\n16777217\n2\n16777216\n3\n100000000\n", {});
  CHECK(large.classes == std::vector<std::string>{"16777216", "16777217", "100000000"});
}

TEST_CASE("counts that lie are named with their place") {
  const std::string toman = kToman;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = toman;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(refused_samples(with("\n3\n0.62", "\n4\n0.62"), kNumbers) ==
        "f:14:1: found the end of the file after 3 patterns, expected 4 as line 10 says");
  CHECK(refused_samples(with("\n3\n0.62", "\n2\n0.62"), kNumbers) ==
        "f:13:1: found one more pattern, expected the end of the file after 2 patterns, as line 10 says");
  CHECK(refused_samples(with("0.1 -1 | 1", "0.1 -1 1"), kNumbers) == "f:12:3: found '1', expected '|' after 2 inputs");
  CHECK(refused_samples(with("0.1 -1 | 1", "0.1 | 1"), kNumbers) == "f:12:2: found '|', expected 2 inputs before '|'");
  CHECK(refused_samples(with("0.1 -1 | 1", "0.1 -1 | 1 2"), kNumbers) == "f:12:5: found '2', expected 1 outputs");
  CHECK(refused_samples(with("0.1 -1 | 1", "0.1 z | 1"), kNumbers) == "f:12:2: found 'z', expected a finite number");
  CHECK(refused_samples(with("#inputs\n2", "#inputs\n3"), kNumbers).starts_with("f:7:1: found '1', expected a name"));
  CHECK(refused_samples(with("x2 -1.0 1.0", "x2 1.0 1.0"), kNumbers).starts_with("f:5:3: found '1.0'"));
  CHECK(refused_samples("3 2 1\n-1 1\n1\n-1 -1\n-1\n", kNumbers)
            .starts_with("f:5:1: found the end of the file in row 3"));
  CHECK(refused_samples("1 2 1\n-1 1\n1\n-1 -1\n-1\n", kNumbers)
            .starts_with("f:4:1: found '-1', expected the end of the file"));
  CHECK(refused_samples("2 3 1\n-1 1\n1\n-1 -1\n-1\n", kNumbers) ==
        "f:2:1: found 2 numbers, expected 3 inputs, as line 1 says");
  CHECK(refused_samples("999999999 2 1\n-1 1\n1\n", kNumbers).starts_with("f:1:1: found 999999999 rows"));
  CHECK(refused_samples("2 2 1\n-1 x\n1\n-1 -1\n-1\n", kNumbers) == "f:2:2: found 'x', expected a finite number");
}

TEST_CASE("what is written reads back as the same, in every format") {
  for (const DataOptions& options : {DataOptions{}, kNumbers}) {
    const std::string text =
        options.task == Task::classify ? "a,b,kind\n0.1,-3,yes\n1e-30,7,no\n2,7,yes\n" : "0.1,-3,1.5\n1e-30,7,2\n";
    const Dataset data = read_samples(text, options);
    for (const std::string& written : {fann_text(data), toman_text(data), table_text(data)}) {
      CAPTURE(written);
      const Dataset back = read_samples(written, options);
      CHECK(back.inputs == data.inputs);
      CHECK(back.targets == data.targets);
      CHECK(back.labels == data.labels);
    }
    CHECK(read_samples(toman_text(data), options).classes == data.classes);
    CHECK(read_samples(table_text(data), options).classes == data.classes);
  }
  for (const char* name : {"5\" disk", "\"", "\"a\"", "a,b", "a\",\"b"}) {
    CAPTURE(name);
    Dataset data = read_samples("a,b,kind\n1,2,x\n3,4,y\n", {});
    data.classes[0] = data.input_names[1] = name;
    const std::string written = table_text(data);
    const Dataset back = read_samples(written, {});
    CHECK(std::set<std::string>(back.classes.begin(), back.classes.end()) == std::set<std::string>{name, "y"});
    CHECK(back.input_names == data.input_names);
    CHECK(table_text(back) == written);
  }
}

}  // namespace
}  // namespace heddle
