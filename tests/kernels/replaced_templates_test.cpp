#include "heddle/kernels/replaced_templates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle {
namespace {

const Replacement kMove{
    .file = "cuda/launched.cuh", .find = "control.consequent_rate * error[l] * normalised", .replace = "0.0f"};

std::string text_of(const KernelFamily& family, const std::string& backend, std::string_view end) {
  for (const SourceFile& file : family.source(backend).files()) {
    if (file.name.ends_with(end)) return std::string(file.text);
  }
  return {};
}

/// The line of the Error(usage) that the replacement throws; empty if it throws none.
std::string refused(const Replacement& replacement) {
  try {
    const ReplacedTemplates family(sonfin::train_family(), "cuda", {replacement});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST_CASE("replaced text is in the templates of one backend, and in nothing else") {
  const KernelFamily& whole = sonfin::train_family();
  const ReplacedTemplates family(whole, "cuda", {kMove});
  CHECK(text_of(whole, "cuda", kMove.file).find(kMove.find) != std::string::npos);
  CHECK(text_of(family, "cuda", kMove.file).find(kMove.find) == std::string::npos);
  CHECK(family.source("cuda").hash() != whole.source("cuda").hash());
  CHECK(family.source("cpu").hash() == whole.source("cpu").hash());
  CHECK(text_of(family, "cuda", "cuda/tile.cuh") == text_of(whole, "cuda", "cuda/tile.cuh"));
  CHECK(family.name() == whole.name());
}

TEST_CASE("two replacements in one file are both there") {
  const Replacement other{.file = kMove.file, .find = "0.5f * error[l] * error[l]", .replace = "1.0f"};
  const ReplacedTemplates family(sonfin::train_family(), "cuda", {kMove, other});
  CHECK(text_of(family, "cuda", kMove.file).find(kMove.find) == std::string::npos);
  CHECK(text_of(family, "cuda", kMove.file).find(other.find) == std::string::npos);
}

TEST_CASE("what cannot be replaced is named") {
  CHECK(refused({.file = "cuda/nothing.cuh", .find = "a", .replace = "b"}) == "no template file cuda/nothing.cuh");
  CHECK(refused({.file = ".cuh", .find = "a", .replace = "b"}) == "several template files end in .cuh");
  CHECK(refused({.file = kMove.file, .find = "no such text", .replace = ""}) ==
        "no \"no such text\" in heddle/kernels/sonfin/cuda/launched.cuh");
  CHECK(refused({.file = kMove.file, .find = "__syncthreads();", .replace = ""}) ==
        "\"__syncthreads();\" is more than once in heddle/kernels/sonfin/cuda/launched.cuh");
}

}  // namespace
}  // namespace heddle
