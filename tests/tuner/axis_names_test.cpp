// What is generic knows no family: no name of an axis of a built-in family stands in its texts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/family_registry.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

/// In cli/, what is about models and the rows of data that they are taught with, not about families and profiles: there
/// "rows", "dim" and "outputs" are those of the data.
const std::set<std::string>& about_models() {
  static const std::set<std::string> stems{"train",       "train_run", "predict",       "inspect", "data_options",
                                           "epoch_table", "gain",      "metrics_table", "convert"};
  return stems;
}

/// What is inside string literals of C++ source, raw ones too; comments, characters and names of headers are not.
std::vector<std::string> literals(std::string_view source) {
  std::vector<std::string> found;
  const auto end_of = [&](std::string_view mark, std::size_t from) {
    return std::min(source.find(mark, from), source.size());
  };
  for (std::size_t at = 0; at < source.size(); ++at) {
    const std::string_view rest = source.substr(at);
    const bool starts_line = at == 0 || source[at - 1] == '\n';
    if (rest.starts_with("//") || (starts_line && rest.starts_with("#include"))) {
      at = end_of("\n", at);
    } else if (rest.starts_with("/*")) {
      at = end_of("*/", at) + 1;
    } else if (rest.starts_with("R\"")) {
      const std::size_t open = end_of("(", at);
      const std::string close = ")" + std::string(source.substr(at + 2, open - at - 2)) + "\"";
      const std::size_t end = end_of(close, open);
      found.emplace_back(source.substr(open + 1, end - open - 1));
      at = end + close.size() - 1;
    } else if (rest.front() == '"' ||
               (rest.front() == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(source[at - 1])) == 0))) {
      std::size_t end = at + 1;
      while (end < source.size() && source[end] != rest.front()) end += source[end] == '\\' ? 2 : 1;
      if (rest.front() == '"') found.emplace_back(source.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return found;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto inside = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !inside(at - 1)) && !inside(at + word.size())) return true;
  }
  return false;
}

/// Those of families that train and predict. The others have everyday words as names: numbers, bits, terms.
std::set<std::string> axis_names() {
  std::set<std::string> names;
  for (const auto& family : builtin_families().all()) {
    if (!family->tuned_unasked()) continue;
    for (const Axis& axis : family->axes()) names.insert(axis.name);
  }
  return names;
}

TEST_CASE("string literals of a source") {
  CHECK(literals("f(\"a\\\"b\", 'x', '\"', \"c\");  // \"d\"\n/* \"e\" */ 1'000 \"f\"\n#include \"g\"\n R\"sql(h "
                 "\"i\")sql\" \"\"") == std::vector<std::string>{"a\\\"b", "c", "f", "h \"i\"", ""});
  CHECK(has_word("--rows LIST", "rows"));
  CHECK(has_word("{} rows", "rows"));
  CHECK_FALSE(has_word("arrows and rows_", "rows"));
}

TEST_CASE("no name of an axis stands in a text of what is generic") {
  const std::set<std::string> names = axis_names();
  CHECK(names.size() >= 4);
  std::size_t files = 0;
  for (const char* const folder :
       {"tuner", "profiles", "runtime/device", "runtime/dispatch", "runtime/kernel", "runtime/plan", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEDDLE_SOURCES) / folder)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".cpp" && file.extension() != ".hpp") continue;
      if (std::string_view(folder) == "cli" && about_models().contains(file.stem().string())) continue;
      ++files;
      std::ifstream stream(file, std::ios::binary);
      const std::string source{std::istreambuf_iterator<char>(stream), {}};
      for (const std::string& literal : literals(source)) {
        for (const std::string& name : names) {
          CHECK_MESSAGE(!has_word(literal, name), file.string() << ": '" << name << "' in \"" << literal << "\"");
        }
      }
    }
  }
  CHECK(files > 100);
}

}  // namespace
}  // namespace heddle
