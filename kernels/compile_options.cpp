#include "heddle/kernels/compile_options.hpp"

#include <fmt/format.h>

namespace heddle {

std::string text(LanguageLevel level) { return level == LanguageLevel::cpp17 ? "c++17" : "c++20"; }

std::string CompileOptions::text() const {
  std::string line = fmt::format("{} fast_math={} flush_denormals={} contraction={}", heddle::text(standard), fast_math,
                                 flush_denormals, contraction);
  // With their lengths, so that one word with a space is not two words.
  for (const std::string& word : extra) line += fmt::format(" {}:{}", word.size(), word);
  return line;
}

}  // namespace heddle
