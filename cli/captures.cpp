#include "heddle/cli/captures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/example.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::cli {

namespace {

/// All of a definition but the sizes at which it was called.
std::string kernel_text(KernelDefinition kernel) {
  kernel.problems.clear();
  kernel.awkward = {};
  return describe(kernel).text;
}

}  // namespace

KernelDefinition definition_of(const std::vector<const KernelCapture*>& captures) {
  KernelDefinition kernel = captures.front()->kernel;
  const std::string text = kernel_text(kernel);
  kernel.problems.clear();
  for (const KernelCapture* const each : captures) {
    if (kernel_text(each->kernel) != text) {
      throw Error(ErrorKind::input, fmt::format("option --capture: two kernels are called {}, and are not the same",
                                                in_quotes(kernel.name)));
    }
    if (std::ranges::find(kernel.problems, each->problem) != kernel.problems.end()) {
      throw Error(ErrorKind::input,
                  fmt::format("option --capture: two calls of {} at {}", in_quotes(kernel.name), each->problem.text()));
    }
    kernel.problems.push_back(each->problem);
  }
  kernel.awkward = kernel.problems.front();
  return kernel;
}

void Captures::add(const std::string& file, bool allow_outside) {
  captures_.push_back(read_capture(file, allow_outside));
  files_.push_back(file);
}

std::vector<std::string> Captures::add_to(FamilyRegistry& families) {
  if (captures_.empty()) return {};
  folder_ = std::make_unique<ScratchFolder>();
  std::map<std::string, std::vector<const KernelCapture*>> kernels;
  for (const KernelCapture& each : captures_) kernels[each.kernel.name].push_back(&each);
  std::vector<std::string> names;
  for (const auto& [name, captures] : kernels) {
    // Of its own: two kernels may have been called at problems of the same text.
    const std::filesystem::path own = folder_->path() / std::to_string(names.size());
    std::filesystem::create_directory(own);
    KernelExamples examples{.folder = own.string()};
    for (const KernelCapture* const each : captures) examples.calls[each->problem.text()] = each->numbers;
    const auto& family = *families.add(describe(definition_of(captures), examples)).defined();
    for (const KernelCapture* const each : captures) {
      save_example(own.string(), each->problem, family.buffers(each->problem), each->contents);
    }
    names.emplace_back(family.name());
  }
  for (KernelCapture& each : captures_) each.contents.clear();  // they are in files now
  return names;
}

}  // namespace heddle::cli
