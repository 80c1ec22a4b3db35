#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace heddle::test {
namespace {

std::string source(const std::string& name) {
  std::ifstream stream(std::string(HEDDLE_SOURCE "/") + name);
  REQUIRE(stream.good());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST_CASE("the README shows the example that is compiled and run by the tests") {
  const std::string readme = source("README.md"), opening = "```cpp\n";
  const std::size_t begin = readme.find(opening);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = readme.find("```", begin + opening.size());
  REQUIRE(end != std::string::npos);
  CHECK(readme.substr(begin + opening.size(), end - begin - opening.size()) == source("examples/train.cpp"));
}

}  // namespace
}  // namespace heddle::test
