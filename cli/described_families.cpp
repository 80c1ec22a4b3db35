#include "heddle/cli/described_families.hpp"

#include <fmt/format.h>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/own/kernel_file.hpp"

namespace heddle::cli {

void check(const DescribedFamilies& described) {
  if (described.with.empty() || described.names.size() == 1) return;
  throw Error(ErrorKind::usage, fmt::format("option --with: changes one kernel's description, found {} of --kernel",
                                            described.names.size()));
}

void add_described_families(Command& command, DescribedFamilies& described, FamilyRegistry& families) {
  command.flag("--allow-outside", "Allow a description to name sources outside its folder", described.allow_outside);
  command.option("--with", "FILE", "A second description, with changes to the one kernel's", described.with);
  command.repeated("--kernel", "FILE",
                   "The kernel that this file describes (T1 files, too), in place of the families; may be given "
                   "several times",
                   [&described, &families](const std::string& file) {
                     const KernelFamily& family = families.add(describe(
                         read_kernel_file(file, {.allow_outside = described.allow_outside, .with = described.with})));
                     described.names.emplace_back(family.name());
                     described.files.push_back(file);
                   });
  command.option("--encoding", "E", "Encoding of --formula: lu (lower and upper bounds) or mr (midpoint and radii)",
                 [&described](const std::string& text) { described.encoding = fuzzy::encoding_of(text); });
  command.repeated("--formula", "F",
                   "The kernel of a formula over arrays of fuzzy numbers, such as \"a*b + c\", in place of the "
                   "families; may be given several times [in both encodings, unless --encoding names one]",
                   [&described, &families](const std::string& text) {
                     const fuzzy::Formula formula(text);
                     for (const auto each : {fuzzy::Encoding::lower_upper, fuzzy::Encoding::midpoint_radius}) {
                       if (described.encoding && *described.encoding != each) continue;
                       const KernelFamily* family = families.find(fuzzy::map_name(formula, each));
                       if (family == nullptr) family = &families.add(fuzzy::describe_map(formula, each));
                       described.names.emplace_back(family->name());
                     }
                   });
}

}  // namespace heddle::cli
