#include "heddle/kernels/template_source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"

namespace heddle {
namespace {

std::string hash(std::string_view text, std::string_view name = "a") {
  return TemplateSource(std::vector<SourceFile>{{.name = name, .text = text}}).hash();
}

TEST_CASE("comments and spacing do not change a hash") {
  const std::string plain = "#define N 3\ntemplate <int A> int f(int x) { return x + A; }\n";
  for (const char* same : {
           "#define N 3\ntemplate<int A>\nint f( int  x ){\n\treturn x+A;\n}",
           "// about\n#define N 3  // three\ntemplate <int A> int f(int x) { return x /* plus */ + A; }\n",
           "/* about\n */ #define N 3\n\n\ntemplate <int A> int f(int/**/x) { return x + A; } // end",
           "#define N \\\n  3\r\ntemplate <int A> int f(int x) { return x + A; }\r\n",
       }) {
    CAPTURE(same);
    CHECK(without_format(same) == without_format(plain));
    CHECK(hash(same) == hash(plain));
  }
}

TEST_CASE("what means something else has another hash") {
  const auto differ = [](std::string_view a, std::string_view b) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(hash(a) != hash(b));
  };
  differ("int x;", "intx;");
  differ("#define A 1\nf();", "#define A 1 f();");
  differ("#define A (1)\n", "#define A(1)\n");
  differ("x = \"a b\";", "x = \"ab\";");
  differ("x = \"// a\";", "x = \"\";");
  differ("x = \"\\\"// a\";", "x = \"\\\"// b\";");
  differ("x = ' ';", "x = '';");
  differ("x = '\"'; // y", "x = '\"'; y");
  differ("x = 1'000; y = 1;", "x = 1'000; y = 2;");
  CHECK(without_format("x = '\"'; // y").find('y') == std::string::npos);
  CHECK(without_format("n = 1'000; // it's") == without_format("n=1'000;"));
  CHECK(without_format("").empty());
  CHECK(without_format("/* open") == without_format(""));
  CHECK(without_format("x = \"open") == "x=\"open");
}

TEST_CASE("names of files count as well") { CHECK(hash("x", "a") != hash("x", "b")); }

TEST_CASE("digests") {
  CHECK(digest("") == "99aa06d3014798d86001c324468d497f");  // XXH3's own test vector
  CHECK(digest("a") != digest("b"));
}

TEST_CASE("every family's template is embedded with all that it includes") {
  for (const auto& family : builtin_families().all()) {
    for (const char* backend : {"cuda", "cpu"}) {
      if (!family->supports(backend)) continue;
      const TemplateSource& source = family->source(backend);
      CHECK(source.hash().size() == 32);
      std::set<std::string_view> names;
      for (const SourceFile& file : source.files()) {
        CAPTURE(file.name);
        CHECK(names.insert(file.name).second);
        CHECK(!file.text.empty());
      }
      CHECK(names.contains(source.main().name));
    }
  }
  CHECK(std::ranges::is_sorted(embedded_sources(), {}, &SourceFile::name));
  CHECK_THROWS_AS(TemplateSource("heddle/kernels/none.cuh"), std::out_of_range);
}

}  // namespace
}  // namespace heddle
