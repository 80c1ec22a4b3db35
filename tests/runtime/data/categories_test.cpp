// Words and missing values among the inputs of a text.
#include <doctest/doctest.h>

#include "heddle/runtime/data/dataset.hpp"
#include "runtime/data/data_folder.hpp"

namespace heddle {
namespace {

using Floats = std::vector<float>;

constexpr const char* kShirts = "size,colour,price,class\n3,red,10,a\n4,blue,11,b\n5,red,12,a\n6,green,13,b\n";

Dataset read_shirts(const DataFolder& folder, const std::string& text, const DataOptions& options) {
  return load_dataset(folder.write("f", text), options);
}

std::string refused_words(const std::string& text, const DataOptions& options) {
  const DataFolder folder;
  return refusal(folder, ErrorKind::input, [&] { (void)load_dataset(folder.write("f", text), options); });
}

TEST_CASE("a column of words becomes its index, or an input for each word") {
  const DataFolder folder;
  const Dataset index = read_shirts(folder, kShirts, {.categories = Categories::index});
  CHECK(index.dim == 3);
  CHECK(index.inputs == Floats{3, 2, 10, 4, 0, 11, 5, 2, 12, 6, 1, 13});
  CHECK(index.input_names == std::vector<std::string>{"size", "colour", "price"});
  const Dataset spread = read_shirts(folder, kShirts, {.categories = Categories::one_hot});
  CHECK(spread.dim == 5);
  CHECK(spread.inputs == Floats{3, 0, 0, 1, 10, 4, 1, 0, 0, 11, 5, 0, 0, 1, 12, 6, 0, 1, 0, 13});
  CHECK(spread.input_names == std::vector<std::string>{"size", "colour=blue", "colour=green", "colour=red", "price"});
  CHECK(spread.labels == std::vector<std::int32_t>{0, 1, 0, 1});
}

TEST_CASE("rows read later are coded as the training rows were") {
  const DataFolder folder;
  for (const Categories how : {Categories::index, Categories::one_hot}) {
    const Dataset train = read_shirts(folder, kShirts, {.categories = how});
    const Dataset later =
        read_shirts(folder, "size,colour,price,class\n7,green,1,b\n8,red,2,a\n", {.expected = expectation(train)});
    CHECK(later.inputs == (how == Categories::index ? Floats{7, 1, 1, 8, 2, 2} : Floats{7, 0, 1, 0, 1, 8, 0, 0, 1, 2}));
    CHECK(later.remarks.empty());
  }
}

TEST_CASE("a category in double quotes is what it stands for") {
  const DataFolder folder;
  const Dataset data = load_dataset(folder.write("f", "size,age,y\n\"5\"\" disk\",1,p\n\"3, flat\",2,q\n"),
                                    {.categories = Categories::index});
  CHECK(data.coding.columns[0] == std::vector<std::string>{"3, flat", "5\" disk"});
}

TEST_CASE("a category that the training rows lack") {
  const DataFolder folder;
  const std::string later = "7,pink,1,b\n8,red,2,a\n";
  const Dataset spread = read_shirts(folder, kShirts, {.categories = Categories::one_hot});
  const Dataset read = read_shirts(folder, later, {.header = Header::absent, .expected = expectation(spread)});
  CHECK(read.inputs == Floats{7, 0, 0, 0, 1, 8, 0, 0, 1, 2});
  REQUIRE(read.remarks.size() == 1);
  CHECK(read.remarks[0].find("1 field has a category that the training rows lack (first 'pink' at ") !=
        std::string::npos);
  const Dataset index = read_shirts(folder, kShirts, {.categories = Categories::index});
  CHECK(refused_words(later, {.header = Header::absent, .expected = expectation(index)}) ==
        "f:1:2: found 'pink', expected a category that the training rows have in this column: blue, green, red");
}

TEST_CASE("missing values are named by their columns, or are a category on request") {
  const std::string text = "age,work,home,class\n20,?,x,a\n30,b,?,b\n40,c,,a\n";
  CHECK(refused_words(text, {.categories = Categories::index}) ==
        "f:2:2: found missing values in the columns work (1), home (2), expected a word in every row, or --missing "
        "category");
  CHECK(refused_words("age,work,class\n20,x,a\n?,y,b\n",
                      {.categories = Categories::index, .missing_is_category = true}) ==
        "f:3:1: found missing values in the column age (1), expected a value in every row");
  const DataFolder folder;
  const Dataset data = read_shirts(folder, text, {.categories = Categories::index, .missing_is_category = true});
  CHECK(data.inputs == Floats{20, 2, 0, 30, 0, 1, 40, 1, 1});
  CHECK(data.coding.columns[1] == std::vector<std::string>{"b", "c", "?"});
}

TEST_CASE("words where there should be numbers, and the other way round") {
  CHECK(refused_words("1,2,x\n3,four,y\n5,6,x\n", {.header = Header::absent, .categories = Categories::index}) ==
        "f:2:2: found 'four', expected a number, as most rows have in this column");
  CHECK(refused_words("1,a,x\n3,4,y\n5,b,x\n", {.header = Header::absent, .categories = Categories::one_hot}) ==
        "f:2:2: found '4', expected a word, as most rows have in this column");
  CHECK(refused_words("a,b,x\nc,d,y\n", {.categories = Categories::index}).find("--header or --no-header") !=
        std::string::npos);
  const DataFolder folder;
  const Dataset numbers = read_shirts(folder, "1,2,x\n3,4,y\n", {.categories = Categories::one_hot});
  CHECK(numbers.coding.columns.empty());
  const Dataset train = read_shirts(folder, kShirts, {.categories = Categories::index});
  CHECK(refused_words("x,red,1,b\n8,red,2,a\n", {.header = Header::absent, .expected = expectation(train)}) ==
        "f:1:1: found 'x', expected a finite number");
}

}  // namespace
}  // namespace heddle
