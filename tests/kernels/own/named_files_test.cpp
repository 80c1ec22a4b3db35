#include "heddle/kernels/own/named_files.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace heddle {
namespace {

using How = NamedFile::How;

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (const NamedFile& file : named_files(text)) names.push_back(file.how == How::computed ? "?" : file.name);
  return names;
}

TEST_CASE("directives name files, however they are written") {
  const std::vector<std::string> a{"a"};
  for (const char* const text :
       {"#include <a>", "#include \"a\"\n", "  #\tinclude/**/<a>", "#inc\\\nlude <a>", "#inc\\ \t\nlude <a>",
        "%:include <a>", "\?\?=include <a>", "# /* \n */ include /**/ \"a\"", "/* */ #include <a>",
        "int x; /*\n*/ #import <a>", "#include_next <a>", "#embed <a>", "#line 7 \"a\"", "#line 7/**/\"a\"",
        "# 7 \"a\" 3", "#if 0\n#include <a>\n#endif",
        // A comment in a raw string hides nothing.
        "auto s = R\"(\n# /*\n)\";\n#include <a>\n/* */", "auto s = R\"(\n/*\n)\";\n#include <a>\n"}) {
    CAPTURE(text);
    CHECK(names_in(text) == a);
  }
  CHECK(names_in("#include FILE\n#line __LINE__ FILE\n#include") == std::vector<std::string>{"?", "?", "?"});
  CHECK(named_files("#include <a>").front().how == How::brackets);
  CHECK(named_files("#include \"a\"").front().how == How::quotes);
}

TEST_CASE("other lines name none") {
  for (const char* const text : {"", "#", "#define include <a>", "// #include <a>", "x #include <a>", "#line 7",
                                 "#line 7 // \"a\"", "#pragma unroll 4", "a % b", " * #include <a>", "#includes <a>"}) {
    CAPTURE(text);
    CHECK(names_in(text).empty());
  }
}

TEST_CASE("a source that may read what is not its own") {
  CHECK_FALSE(names_outside("a.cu", "#include <cuda_fp16.h>\n#include \"b/c.h\"\n#include <b/../c.h>\n"));
  for (const char* const name : {"</etc/hostname>", "\"/etc/hostname\"", "<../a>", "<b/../../a>", "\"..\"", "<//a>"}) {
    CAPTURE(name);
    const auto why = names_outside("a.cu", std::string("#include ") + name);
    REQUIRE(why);
    CHECK(why->find("'a.cu' names the file '") == 0);
  }
  CHECK(names_outside("a.cu", "#include A")->find("a macro names") != std::string::npos);
}

TEST_CASE("long sources that are made to be slow are not") {
  // Without bounds each of these signs would be followed by a search through all that comes behind it.
  for (const std::string part : {"#", "#/*\n", "*/#include <", "*/#include /*", "#/**/\n", "\\\n", "# \\\n"}) {
    std::string text;
    while (text.size() < (1U << 22U)) text += part;
    CAPTURE(part);
    CHECK(named_files(text).size() <= text.size());
    CHECK(named_files(text + "*/").size() <= text.size());
  }
}

}  // namespace
}  // namespace heddle
