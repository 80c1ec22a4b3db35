#include "heddle/runtime/data/idx.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "runtime/data/data_folder.hpp"

namespace heddle {
namespace {

std::string idx(char type, const std::vector<std::uint32_t>& shape, const std::string& values) {
  std::string bytes{'\0', '\0', type, static_cast<char>(shape.size())};
  for (const std::uint32_t extent : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift);
  }
  return bytes + values;
}

TEST_CASE("arrays of every type") {
  const auto values = [](const std::string& bytes) { return read_idx<float>(bytes, "f").values; };
  CHECK(values(idx(8, {2}, "\x01\xff")) == std::vector<float>{1, 255});
  CHECK(values(idx(9, {2}, "\x01\xff")) == std::vector<float>{1, -1});
  CHECK(values(idx(0x0b, {2}, std::string("\x01\x00\xff\xfe", 4))) == std::vector<float>{256, -2});
  CHECK(values(idx(0x0c, {1}, "\xff\xff\xff\xfd")) == std::vector<float>{-3});
  CHECK(values(idx(0x0d, {1}, std::string("\x3f\xc0\x00\x00", 4))) == std::vector<float>{1.5F});
  CHECK(values(idx(0x0e, {1}, std::string("\xbf\xf8\0\0\0\0\0\0", 8))) == std::vector<float>{-1.5F});
}

TEST_CASE("headers that do not tell the truth") {
  const auto refuse = [](const std::string& bytes) -> std::string {
    try {
      (void)read_idx<float>(bytes, "f");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return error.what();
    }
    return "";
  };
  CHECK(refuse(idx(8, {10'485'760, 32, 32}, "abc")) ==
        "f: found an IDX header that claims 10737418240 bytes, expected the 3 bytes that follow it");
  CHECK(refuse(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "")) ==
        "f: found an IDX header that claims more than 2^64 bytes, expected the 0 bytes that follow it");
  CHECK(refuse(idx(8, {2}, "abc")) ==
        "f: found an IDX header that claims 2 bytes, expected the 3 bytes that follow it");
  CHECK(refuse(idx(8, {0, 28, 28}, "")) ==
        "f: found an IDX file without rows, expected at least one row of at least one value");
  CHECK(refuse(idx(8, {}, "")) == "f: found an IDX file without dimensions, expected at least one");
  CHECK(refuse(idx(8, {3, 4}, "").substr(0, 9)) == "f: found an IDX file that ends in its header, expected all of it");
  CHECK(refuse(idx(0x0a, {1}, "a")) == "f: found an IDX file of type 10, expected 8, 9, 11, 12, 13 or 14");
  CHECK(refuse(idx(0x0d, {1}, std::string("\x7f\x80\x00\x00", 4))) ==
        "f: found value 1 out of range, expected a finite number");
}

TEST_CASE("images with their labels") {
  const DataFolder folder;
  const auto images = folder.write_gzip("images.gz", idx(8, {3, 2, 2}, "abcdefghijkl"));
  const std::string label =
      "file:" + folder.write_gzip("labels.gz", idx(8, {3}, std::string("\x05\x00\x05", 3))).string();
  const Dataset data = load_dataset(images, {.label = label});
  CHECK(data.rows() == 3);
  CHECK(data.dim == 4);
  CHECK(data.inputs[4] == 'e');
  CHECK(data.classes == std::vector<std::string>{"0", "5"});
  CHECK(data.labels == std::vector<std::int32_t>{1, 0, 1});

  const auto refuse = [&](ErrorKind kind, const DataOptions& options) {
    return refusal(folder, kind, [&] { (void)load_dataset(images, options); });
  };
  CHECK(refuse(ErrorKind::usage, {}) ==
        "--label: found nothing, expected file:PATH with the labels of the IDX file images.gz");
  CHECK(refuse(ErrorKind::usage, {.label = "last"}) ==
        "--label: found 'last', expected file:PATH with the labels of the IDX file images.gz");
  const std::string two = "file:" + folder.write("two", idx(8, {2}, "ab")).string();
  CHECK(refuse(ErrorKind::input, {.label = two}) == "two: found 2 rows, expected 3 as in images.gz");
  const std::string wide = "file:" + folder.write("wide", idx(8, {3, 2}, "abcdef")).string();
  CHECK(refuse(ErrorKind::input, {.label = wide}) == "wide: row 1: found a second label, expected one class a row");
  const std::string other = "file:" + folder.write("other", idx(8, {3}, std::string("\x05\x00\x06", 3))).string();
  CHECK(refuse(ErrorKind::input, {.label = other, .expected = expectation(data)}) ==
        "other: row 3: found '6', expected a class of the training rows: 0, 5");
  // Beyond 2^24 float32 has no more every whole number.
  const std::string large =
      "file:" + folder.write("large", idx(0x0c, {3}, std::string("\x01\0\0\x02\x01\0\0\x01\x01\0\0\0", 12))).string();
  const Dataset apart = load_dataset(images, {.label = large});
  CHECK(apart.classes == std::vector<std::string>{"16777216", "16777217", "16777218"});
  CHECK(apart.labels == std::vector<std::int32_t>{2, 1, 0});
  const std::string tiny =
      "file:" + folder.write("tiny", idx(0x0d, {3}, std::string("\x30\x80\0\0\0\0\0\0\x3f\x80\0\0", 12))).string();
  CHECK(load_dataset(images, {.task = Task::regress, .label = tiny}).targets == std::vector<float>{0x1p-30F, 0, 1});
  CHECK_FALSE(load_dataset(images, {.expected = expectation(data), .labels_optional = true}).labelled());
  Expectation wider = expectation(data);
  wider.dim = 5;
  CHECK(refuse(ErrorKind::input, {.label = label, .expected = wider}) ==
        "images.gz: found 4 inputs, expected 5 as in training");
}

}  // namespace
}  // namespace heddle
