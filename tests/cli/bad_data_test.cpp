// Data files that cannot be used: one clear line each, exit code 3, and no model is written or lost.
#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

std::string gzip(const std::string& bytes, const std::filesystem::path& file) {
  const gzFile stream = gzopen(file.c_str(), "wb");
  REQUIRE(gzwrite(stream, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  REQUIRE(gzclose(stream) == Z_OK);
  return file.string();
}

TEST_CASE("data that cannot be used") {
  const Workplace place;
  const std::string good = place.write("good.csv", table(40, 3, 2, 5));
  const std::string old = place.write("model.heddle", "a model of yesterday");
  struct Case {
    std::string name, bytes;
    std::vector<std::string> words;
  };
  for (const Case& bad : {
           Case{"empty.csv", "", {"empty.csv"}},
           Case{"blank.csv", "\n\n", {"blank.csv"}},
           Case{"header_only.csv", "a,b,class\n", {"header_only.csv"}},
           Case{"ragged.csv", "1,2,x\n3,4,y\n5,x\n6,7,y\n", {"ragged.csv:3"}},
           Case{"text.csv", "1,2,x\n3,four,y\n5,6,x\n", {"text.csv:2:2", "four"}},
           Case{"missing.csv", "1,2,x\n3,,y\n5,6,x\n", {"missing.csv:2:2"}},
           Case{"question.csv", "1,2,x\n3,?,y\n5,6,x\n", {"question.csv:2:2", "?"}},
           Case{"nan.csv", "1,2,x\n3,4,y\nnan,6,x\n", {"nan.csv:3:1", "nan"}},
           Case{"inf.csv", "1,2,x\n3,-inf,y\n5,6,x\n", {"inf.csv:2:2", "inf"}},
           Case{"large.csv", "1,2,x\n3,1e999,y\n5,6,x\n", {"large.csv:2:2", "1e999"}},
           Case{"one_class.csv", "1,2,x\n3,4,x\n5,6,x\n", {"one_class.csv", "class"}},
           Case{"half_header.csv", "a,7,class\n1,2,x\n3,4,y\n", {"half_header.csv:1", "header"}},
       }) {
    CAPTURE(bad.name);
    const std::string file = place.write(bad.name, bad.bytes);
    const std::string model = place.path("model.heddle").string();
    check_refused(place.run({"train", file, "--model", model, "--device", "cpu"}), 3, bad.words);
    CHECK(place.read("model.heddle") == "a model of yesterday");
    CAPTURE("as test data");
    check_refused(place.run({"train", good, "--test", file, "--model", model, "--device", "cpu"}), 3, {bad.name});
    CHECK(place.read("model.heddle") == "a model of yesterday");
  }
}

TEST_CASE("an IDX header that claims 10 GB") {
  const Workplace place;
  const std::string header("\x00\x00\x08\x03\x00\xa0\x00\x00\x00\x00\x01\x00\x00\x00\x04\x00", 16);  // 10 GB of bytes
  const std::string file = place.write("huge.idx", header);
  const std::string labels = place.write("labels.idx", std::string("\x00\x00\x08\x01\x00\x00\x00\x02\x00\x01", 10));
  check_refused(place.run({"train", file, "--label", "file:" + labels, "--device", "cpu"}), 3, {"huge.idx"});
}

TEST_CASE("a header that is read as data because one says so") {
  const Workplace place;
  const std::string file = place.write("named.csv", "a,b,class\n1,2,x\n3,4,y\n");
  check_refused(place.run({"train", file, "--no-header", "--device", "cpu"}), 3, {"named.csv:1:1", "'a'"});
}

TEST_CASE("no file, a folder, a truncated gzip") {
  const Workplace place;
  check_refused(place.run({"train", place.path("nothing.csv").string()}), 3, {"nothing.csv"});
  check_refused(place.run({"train", place.folder().string()}), 3, {place.folder().string()});
  check_refused(place.run({"train", "/dev/zero"}), 3, {"/dev/zero", "a device"});  // without end
  const std::string whole = gzip(table(2000, 8, 3, 7), place.path("cut.csv.gz"));
  std::filesystem::resize_file(whole, std::filesystem::file_size(whole) / 2);
  check_refused(place.run({"train", whole}), 3, {"cut.csv.gz"});
}

TEST_CASE("columns of test rows in another order") {
  const Workplace place;
  const std::string train = place.write("train.csv", "a,b,y\n1,2,p\n3,4,q\n5,6,p\n");
  const std::string test = place.write("test.csv", "b,a,y\n2,1,p\n4,3,q\n"), model = place.path("m").string();
  check_refused(place.run({"train", train, "--test", test, "--device", "cpu"}), 3, {"test.csv", "'b'", "a, b, y"});
  REQUIRE(place.run({"train", train, "--model", model, "--device", "cpu"}).code == 0);
  check_refused(place.run({"predict", model, test, "--device", "cpu"}), 3, {"test.csv", "'b'", "a, b"});
  check_refused(place.run({"train", test, "--resume", model, "--epochs", "9", "--device", "cpu"}), 3, {"test.csv"});
}

TEST_CASE("a test label never seen in training") {
  const Workplace place;
  const std::string train = place.write("train.csv", "1,2,x\n3,4,y\n5,6,x\n");
  const std::string test = place.write("test.csv", "1,2,x\n3,4,z\n");
  check_refused(place.run({"train", train, "--test", test, "--device", "cpu"}), 3, {"test.csv:2:3", "'z'"});
}

TEST_CASE("a model that cannot be read or written") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(40, 3, 2, 5));
  check_refused(place.run({"predict", data, data}), 3, {"data.csv"});
  check_refused(place.run({"predict", place.path("none").string(), data}), 3, {"none"});
  check_refused(place.run({"train", data, "--model", place.path("no/such/folder/m").string()}), 3, {"--model"});
  check_refused(place.run({"train", data, "--resume", data}), 3, {"data.csv"});

  const std::string model = place.path("m").string();
  REQUIRE(place.run({"train", data, "--model", model, "--device", "cpu", "--epochs", "1"}).code == 0);
  const std::string other = place.write("other.csv", table(40, 5, 2, 5));
  check_refused(place.run({"predict", model, other, "--device", "cpu"}), 3, {"other.csv"});
  std::filesystem::resize_file(model, std::filesystem::file_size(model) - 7);
  check_refused(place.run({"predict", model, data, "--device", "cpu"}), 3, {model});
}

}  // namespace
}  // namespace heddle::test
