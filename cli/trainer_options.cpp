#include "heddle/cli/trainer_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "heddle/kernels/error.hpp"

namespace heddle::cli {
namespace {

/// Declares an option of one trainer or of several, which is `what`; their defaults may differ.
void add_trainer_option(Command& command, const Option& option, const std::string& what, const std::string& defaults,
                        GivenOptions& given) {
  const std::string& name = option.name;
  const auto set = [&given, name](const std::string& value) { given.emplace_back(name, value); };
  const std::string meaning = what + defaults;
  switch (option.kind) {
    case Option::Kind::flag:
      command.toggle(name, meaning, [set](bool on) { set(on ? "true" : "false"); });
      return;
    case Option::Kind::integer:
      command.option("--" + name, "N", meaning, set);
      return;
    case Option::Kind::integers:
      command.option("--" + name, "N,N,...", meaning, set);
      return;
    case Option::Kind::number:
      command.option("--" + name, "F", meaning, set);
      return;
    case Option::Kind::choice:
      command.option("--" + name, "WORD",
                     fmt::format("{}{}", fmt::format("{}: {}", what, fmt::join(option.choices, ", ")), defaults), set);
      return;
  }
}

std::string shown_default(const Option& option) {
  if (option.kind == Option::Kind::flag) return option.default_value == "true" ? "yes" : "no";
  return option.default_value;
}

const Option* option_of(const Trainer& trainer, const std::string& name) {
  const auto found = std::ranges::find(trainer.options(), name, &Option::name);
  return found == trainer.options().end() ? nullptr : &*found;
}

/// What `text` says of the option of each network that has it, after the network's name.
template <class Text>
std::vector<std::string> by_network(const Option& option, const char* between, Text text) {
  std::vector<std::string> texts;
  for (const Trainer* trainer : trainers()) {
    if (const Option* const same = option_of(*trainer, option.name))
      texts.push_back(fmt::format("{}{}{}", trainer->name(), between, text(*same)));
  }
  return texts;
}
/// Whether `member` of the option is the same in all networks that have it.
bool are_alike(const Option& option, std::string Option::*member) {
  return std::ranges::all_of(trainers(), [&](const Trainer* trainer) {
    const Option* const same = option_of(*trainer, option.name);
    return same == nullptr || same->*member == option.*member;
  });
}

/// " [default: 10]"; of each network by name, where networks differ or only some have the option.
std::string shown_defaults(const Option& option) {
  const std::vector<std::string> defaults = by_network(option, " ", shown_default);
  const bool by_name =
      !are_alike(option, &Option::default_value) || (defaults.size() > 1 && defaults.size() < trainers().size());
  if (by_name) return fmt::format(" [default: {}]", fmt::join(defaults, ", "));
  return option.default_value.empty() ? std::string() : fmt::format(" [default: {}]", shown_default(option));
}

/// The meaning; of each network by name, where only some have the option and mean different things.
std::string shown_meaning(const Option& option, bool of_all) {
  if (of_all || are_alike(option, &Option::meaning)) return option.meaning;
  return fmt::format("{}", fmt::join(by_network(option, ": ", [](const Option& o) { return o.meaning; }), "; "));
}

}  // namespace

void add_trainer_options(Command& command, GivenOptions& given) {
  const auto shared = [](const Option& option) {
    return std::ranges::all_of(trainers(),
                               [&](const Trainer* trainer) { return option_of(*trainer, option.name) != nullptr; });
  };
  std::vector<std::string> declared;
  const auto declare = [&](const Option& option) {
    if (std::ranges::find(declared, option.name) != declared.end()) return;
    declared.push_back(option.name);
    add_trainer_option(command, option, shown_meaning(option, shared(option)), shown_defaults(option), given);
  };
  command.group("Training, every network");
  for (const Option& option : trainers().front()->options()) {
    if (shared(option)) declare(option);
  }
  for (const Trainer* trainer : trainers()) {
    command.group(fmt::format("Training, --network {}", trainer->name()));
    for (const Option& option : trainer->options()) declare(option);
  }
}

OptionValues trainer_options(const Trainer& trainer, const GivenOptions& given) {
  OptionValues values(trainer.options());
  for (const auto& [name, value] : given) {
    if (std::ranges::find(trainer.options(), name, &Option::name) == trainer.options().end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("option --{}: --network {} has none, see 'heddle help train'", name, trainer.name()));
    }
    values.set(name, value);
  }
  return values;
}

}  // namespace heddle::cli
