#include "heddle/runtime/data/dataset.hpp"

#include <doctest/doctest.h>

#include <charconv>
#include <random>
#include <string>
#include <vector>

#include "runtime/data/data_folder.hpp"

namespace heddle {
namespace {

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;

Dataset load(const std::string& bytes, const DataOptions& options = {}) {
  const DataFolder folder;
  return load_dataset(folder.write("data", bytes), options);
}

std::string refused(const std::string& bytes, const DataOptions& options = {}, ErrorKind kind = ErrorKind::input) {
  const DataFolder folder;
  const auto file = folder.write("f", bytes);
  return refusal(folder, kind, [&] { (void)load_dataset(file, options); });
}

const DataOptions kRegress{.task = Task::regress};

TEST_CASE("commas, blanks, tabs, CRLF, a byte order mark, empty lines at the end") {
  for (const std::string& text : {
           std::string("1,2.5,a\n-3,4e2,b\n"),
           std::string("1,2.5,a\n-3,4e2,b"),
           std::string("1, 2.5 ,a\n-3 ,  4e2, b\n\n \n"),
           std::string("1 2.5 a\n-3 4e2 b\n"),
           std::string("  1\t2.5   a  \n\t-3   +400 b \n"),
           std::string("1,2.5,a\r\n-3,4e2,b\r\n\r\n"),
           std::string("\xef\xbb\xbf"
                       "1,2.5,a\n-3,4e2,b\n"),
           std::string("\"1\",2.5,\"a\"\n-3,4e2,b\n"),
       }) {
    CAPTURE(text);
    const Dataset data = load(text);
    CHECK(data.rows() == 2);
    CHECK(data.dim == 2);
    CHECK(data.inputs == Floats{1, 2.5F, -3, 400});
    CHECK(data.classes == Strings{"a", "b"});
    CHECK(data.labels == std::vector<std::int32_t>{0, 1});
    CHECK(data.input_names.empty());
  }
}

TEST_CASE("classes are sorted by value if all are numbers") {
  CHECK(load("0,10\n0,9\n0,-1\n").classes == Strings{"-1", "9", "10"});
  CHECK(load("0,10\n0,9\n0,x\n").classes == Strings{"10", "9", "x"});
  CHECK(load("0,10\n0,9\n0,10\n").labels == std::vector<std::int32_t>{1, 0, 1});
}

TEST_CASE("a header is found by its names") {
  const Dataset data = load("length,\"width\",kind\n1,2,a\n3,4,b\n");
  CHECK(data.rows() == 2);
  CHECK(data.input_names == Strings{"length", "width"});
  CHECK(data.target_names == Strings{"kind"});
  CHECK(load("length,width,kind\n1,2,7\n3,4,8\n").classes == Strings{"7", "8"});
}

TEST_CASE("what may be a header or not must be said") {
  CHECK(refused("a,7,class\n1,2,x\n3,4,y\n") ==
        "f:1:1: found 'a', expected numbers only, or names only if line 1 is a header; say which with --header or "
        "--no-header");
  CHECK(load("a,7,class\n1,2,x\n3,4,y\n", {.header = Header::present}).input_names == Strings{"a", "7"});
  CHECK(refused("a,7,x\n1,2,x\n3,4,y\n", {.header = Header::absent}) ==
        "f:1:1: found 'a', expected a number, or --categories index or one-hot where columns have words");
  // A row of data in which every input is a word, recognised by its class.
  CHECK(refused("a,b,x\n1,2,x\n3,4,y\n") ==
        "f:1: found words in every input and the class 'x', expected numbers, or a header; say which with --header or "
        "--no-header");
  CHECK(load("a,b,x\n1,2,x\n3,4,y\n", {.header = Header::present}).rows() == 2);
  // A header of numbers, recognised by its label.
  CHECK(refused("1,2,class\n5,6,0\n7,8,1\n") ==
        "f:1:3: found 'class', expected a number like every other label; if line 1 is a header, say --header, and if "
        "not, --no-header");
  CHECK(load("1,2,class\n5,6,0\n7,8,1\n", {.header = Header::present}).rows() == 2);
  CHECK(load("1,2,class\n5,6,0\n7,8,1\n", {.header = Header::absent}).classes == Strings{"0", "1", "class"});
  // Words in a column throughout are no question of headers.
  CHECK(refused("1,red,x\n2,blue,y\n") ==
        "f:1:2: found 'red', expected a number, or --categories index or one-hot where columns have words");
}

TEST_CASE("any column can hold the label") {
  CHECK(load("a,1,2\nb,3,4\n", {.label = "first"}).inputs == Floats{1, 2, 3, 4});
  CHECK(load("1,a,2\n3,b,4\n", {.label = "2"}).inputs == Floats{1, 2, 3, 4});
  CHECK(load("u,kind,v\n1,a,2\n3,b,4\n", {.label = "kind"}).input_names == Strings{"u", "v"});
  CHECK(refused("1,2,a\n3,4,b\n", {.label = "4"}, ErrorKind::usage) ==
        "--label: found '4', expected a column from 1 to 3 of f");
  CHECK(refused("1,2,a\n3,4,b\n", {.label = "0"}, ErrorKind::usage) ==
        "--label: found '0', expected a column from 1 to 3 of f");
  CHECK(refused("1,2,a\n3,4,b\n", {.label = "kind"}, ErrorKind::usage) ==
        "--label: found 'kind', expected first, last, a column's number, or a name in line 1 of f");
  CHECK(refused("u,u,v\n1,2,a\n3,4,b\n", {.label = "u"}, ErrorKind::usage) ==
        "--label: found 'u', expected a name that only one column of f has");
  CHECK(refused("1,2,a\n3,4,b\n", {.label = "1,2"}, ErrorKind::usage) ==
        "--label: found '1,2', expected one column of classes");
  CHECK(refused("a\nb\n") == "f:1: found 1 column, expected at least one input beside the label");
}

TEST_CASE("regression takes one or several columns of numbers") {
  Dataset data = load("1,2,0.5\n3,4,-7\n", kRegress);
  CHECK(data.targets == Floats{0.5F, -7});
  CHECK(data.outputs() == 1);
  CHECK(data.labels.empty());
  data = load("p,x,q\n1,2,3\n4,5,6\n", {.task = Task::regress, .label = "q,p"});
  CHECK(data.inputs == Floats{2, 5});
  CHECK(data.targets == Floats{3, 1, 6, 4});
  CHECK(data.target_names == Strings{"q", "p"});
  CHECK(load("1,2,5\n", kRegress).rows() == 1);
  CHECK(refused("1,2,x\n3,4,5\n", kRegress) == "f:1:3: found 'x', expected a finite number");
  CHECK(refused("1,2,3\n", {.task = Task::regress, .label = "3,last"}, ErrorKind::usage) ==
        "--label: found 'last', expected each column once");
}

TEST_CASE("every mistake is one line with its exact place") {
  CHECK(refused("") == "f: found an empty file, expected rows of numbers");
  CHECK(refused("\n\n") == "f: found no rows, expected rows of numbers");
  CHECK(refused("a,b,class\n") == "f: found a header and no rows, expected rows of numbers");
  CHECK(refused("\n1,2,x\n") == "f:1:1: found an empty line, expected a row of numbers or a header");
  CHECK(refused("1,2,x\n3,4\n5,6,y\n") == "f:2:3: found the end of the line after 2, expected 3 fields");
  CHECK(refused("1,2,x\r\n3,4,y\r\n3,4,5,z\r\n") == "f:3:4: found 'z', expected the end of the line after 3 fields");
  CHECK(refused("1,2,x\n\n3,4,y\n") == "f:2:1: found an empty line, expected 3 fields");
  CHECK(refused("1 2 x\n\n3 4 y\n") == "f:2:1: found an empty line, expected 3 fields");
  CHECK(refused("1,2,x\n3,four,y\n") == "f:2:2: found 'four', expected a finite number");
  CHECK(refused("a,b,c\n1,2,x\n3,4x,y\n") == "f:3:2: found '4x', expected a finite number");
  CHECK(refused("1,2,x\n3,,y\n") == "f:2:2: found nothing, expected a finite number");
  CHECK(refused("1,2,x\n3,?,y\n") == "f:2:2: found '?', expected a finite number");
  CHECK(refused("nan,2,x\n3,4,y\n") == "f:1:1: found 'nan', expected a finite number");
  CHECK(refused("1,2,x\n3,-inf,y\n") == "f:2:2: found '-inf', expected a finite number");
  CHECK(refused("1,2,x\n1e999,4,y\n") == "f:2:1: found '1e999', expected a finite number");
  CHECK(refused("1,2,x\n1e39,4,y\n") == "f:2:1: found '1e39', expected a finite number");
  CHECK(refused("1,2,x\n0x10,4,y\n") == "f:2:1: found '0x10', expected a finite number");
  CHECK(refused("1;2;x\n3;4;y\n") == "f:1: found 1 column, expected at least one input beside the label");
  CHECK(refused("1,2,x\n3,4,\n") == "f:2:3: found nothing, expected a class");
  CHECK(refused("1,2,x\n3,4,?\n") == "f:2:3: found '?', expected a class");
  CHECK(refused("1,2,x\n3,4,nan\n") == "f:2:3: found 'nan', expected a class");
  CHECK(refused("1,2,x\n3,4,x\n") == "f: found one class only ('x'), expected at least two");
  CHECK(refused("1,2,x\n3," + std::string(100, 'a') + "\x01,y\n") ==
        "f:2:2: found '" + std::string(24, 'a') + " ... " + std::string(7, 'a') + "\\x01', expected a finite number");
  CHECK(load("1e-999,1e-50,x\n2,3,y\n").inputs == Floats{0, 0, 2, 3});

  std::string many;
  for (int i = 0; i < 1100; ++i) many += "1," + std::to_string(i) + ".5\n";
  CHECK(refused(many) == "f:1025:2: found more than 1024 classes, expected fewer, or --task regress for numbers");
}

TEST_CASE("data read later must fit the training data") {
  const Dataset train = load("1,2,x\n3,4,y\n5,6,z\n");
  DataOptions options{.expected = expectation(train)};
  const Dataset test = load("7,8,z\n7,8,z\n", options);  // one class is enough here
  CHECK(test.classes == train.classes);
  CHECK(test.labels == std::vector<std::int32_t>{2, 2});
  CHECK(refused("1,2,x\n3,4,w\n", options) == "f:2:3: found 'w', expected a class of the training rows: x, y, z");
  CHECK(refused("1,2,3,x\n", options) == "f:1: found 3 inputs, expected 2 as in training");
  CHECK(refused("1,2\n", options) == "f:1: found 1 inputs, expected 2 as in training");

  options.labels_optional = true;
  const Dataset unlabelled = load("1,2\n3,4\n", options);
  CHECK_FALSE(unlabelled.labelled());
  CHECK(unlabelled.rows() == 2);
  CHECK(unlabelled.outputs() == 3);
  CHECK(load("1,2,y\n", options).labels == std::vector<std::int32_t>{1});
  CHECK(load("u,v\n1,2\n", options).input_names == Strings{"u", "v"});
  options.label = "first";
  CHECK(load("y,1,2\n", options).labelled());

  const Dataset curve = load("1,2\n3,4\n", kRegress);
  const DataOptions more{.task = Task::regress, .label = "1,2", .expected = expectation(curve)};
  CHECK(refused("1,2,3\n", more) == "f: found 2 targets a row, expected 1 as in training");
}

TEST_CASE("columns in another order than in training are refused where names tell") {
  const DataFolder folder;
  const Dataset train = load_dataset(folder.write("train", "a,b,y\n1,2,p\n3,4,q\n"));
  const auto later = [&](const std::string& bytes, const std::string& label) {
    const auto file = folder.write("later", bytes);
    return refusal(folder, ErrorKind::input, [&] {
      (void)load_dataset(file, {.label = label, .expected = expectation(train), .labels_optional = label.empty()});
    });
  };
  const std::string fits = "nothing was refused";
  CHECK(
      later("b,a,y\n2,1,p\n", "") ==
      "later: found the column 'b' in the place of 'a', expected the columns in the order of the training rows: a, b, "
      "y");
  CHECK(later("b,a\n2,1\n", "").starts_with("later: found the column 'b'"));
  CHECK(later("a,y\n2,1\n", "").starts_with("later: found the column 'y' in the place of 'b'"));
  CHECK(later("y,a,b\np,1,2\n", "first") == fits);
  CHECK(later("a,b\n1,2\n", "") == fits);
  CHECK(later("u,v,w\n1,2,p\n", "") == fits);  // names that say nothing about the order
  CHECK(later("1,2,p\n", "") == fits);
  CHECK(later("1\n", "").starts_with("later:1: found"));
}

TEST_CASE("labels may come from a file of their own") {
  const DataFolder folder;
  const auto data = folder.write("rows", "1 2\n3 4\n5 6\n");
  const auto with = [&](const std::string& labels) {
    return DataOptions{.label = "file:" + folder.write("labels", labels).string()};
  };
  const Dataset loaded = load_dataset(data, with("-1\n1\n-1\n"));
  CHECK(loaded.dim == 2);
  CHECK(loaded.classes == Strings{"-1", "1"});
  CHECK(loaded.labels == std::vector<std::int32_t>{0, 1, 0});
  const auto refuse = [&](const std::string& labels) {
    return refusal(folder, ErrorKind::input, [&] { (void)load_dataset(data, with(labels)); });
  };
  CHECK(refuse("-1\n1\n") == "labels: found 2 rows, expected 3 as in rows");
  CHECK(refuse("-1\n?\n1\n") == "labels:2:1: found '?', expected a class");
  CHECK(refuse("a b\nb a\nc c\n") == "labels:1:2: found a second label, expected one class a row");
  DataOptions regress{.task = Task::regress, .label = "file:" + folder.write("t", "1 2\n3 4\n5 x\n").string()};
  CHECK(refusal(folder, ErrorKind::input, [&] { (void)load_dataset(data, regress); }) ==
        "t:3:2: found 'x', expected a finite number");
  folder.write("t", "1 2\n3 4\n5 6\n");
  CHECK(load_dataset(data, regress).targets == Floats{1, 2, 3, 4, 5, 6});
  CHECK(refusal(folder, ErrorKind::usage, [&] { (void)load_dataset(data, {.label = "file:"}); }) ==
        "--label: found 'file:', expected a file's name after 'file:'");
}

TEST_CASE("no file, a folder, gzip whole, in parts, cut off, damaged") {
  const DataFolder folder;
  const auto refuse = [&](const std::string& name) {
    return refusal(folder, ErrorKind::input, [&] { (void)load_dataset(folder.file(name)); });
  };
  CHECK(refuse("none") == "none: found no such file, expected one");
  std::filesystem::create_directory(folder.file("folder"));
  CHECK(refuse("folder") == "folder: found a folder, expected a file");

  std::string text;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) text += std::to_string(random()) + "," + std::to_string(i % 7) + "\n";
  folder.write_gzip("a.gz", text.substr(0, 1000));
  CHECK(load_dataset(folder.write_gzip("a.gz", text.substr(1000))).rows() == 3000);
  const auto size = std::filesystem::file_size(folder.file("a.gz"));
  std::filesystem::resize_file(folder.file("a.gz"), size + 512);  // a tape's padding
  CHECK(load_dataset(folder.file("a.gz")).rows() == 3000);
  for (const std::uintmax_t cut : {size - 1, size - 9, size / 2, std::uintmax_t{300}, std::uintmax_t{11}}) {
    std::filesystem::resize_file(folder.file("a.gz"), cut);
    CHECK(refuse("a.gz") == "a.gz: found a gzip file that ends too early, expected all of it");
  }
  folder.write_gzip("b.gz", text);
  std::fstream(folder.file("b.gz"), std::ios::in | std::ios::out | std::ios::binary).seekp(400) << "damage!";
  CHECK(refuse("b.gz").starts_with("b.gz: found a damaged gzip file"));
  folder.write_gzip("empty.gz", "");
  CHECK(refuse("empty.gz") == "empty.gz: found an empty file, expected rows of numbers");
}

TEST_CASE("random numbers come back to the last bit") {
  std::mt19937_64 random(std::random_device{}());
  for (int round = 0; round < 20; ++round) {
    const std::size_t dim = 1 + random() % 30, rows = 2 + random() % 50;
    Floats values(dim * rows);
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = static_cast<std::uint32_t>(random() & 0xbfffffff);  // finite, of any size
      static_assert(sizeof bits == sizeof(float));
      values[i] = __builtin_bit_cast(float, bits);
      char digits[64];
      text.append(digits, std::to_chars(digits, digits + sizeof digits, values[i]).ptr);
      text += round % 2 == 0 ? ", " : "  ";
      if (i % dim == dim - 1) text += i / dim == 0 ? "u\n" : "v\n";
    }
    CHECK(load(text).inputs == values);
  }
}

}  // namespace
}  // namespace heddle
