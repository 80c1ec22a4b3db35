// Prints as JSON, by backend and family, the digests of all built-in kernels and, under "choices", of what chooses
// among them: what bench/evidence/readme_tables.py compares files of results with. Needs no device.
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/vintage.hpp"
#include "heddle/kernels/family_registry.hpp"

int main() {
  return heddle::bench::exit_code("template_digests", [] {
    const heddle::FamilyRegistry registry = heddle::builtin_families();
    std::vector<const heddle::KernelFamily*> families;
    for (const auto& family : registry.all()) families.push_back(family.get());
    nlohmann::ordered_json all = nlohmann::ordered_json::object(), choices = nlohmann::ordered_json::object();
    for (const std::string_view backend : {"cuda", "cpu"}) {
      all.update(heddle::bench::template_digests(families, backend));
      choices.merge_patch(heddle::bench::choice_digests(families, backend));
    }
    all["choices"] = choices;
    fmt::print("{}\n", all.dump(1));
    return 0;
  });
}
