#include "heddle/cli/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::cli {
namespace {

constexpr const char* kDescription =
    "heddle finds the fastest mapping of the training of fuzzy and small neural networks on the device at hand, keeps\n"
    "it in a profile database, and trains with it.";

constexpr const char* kFooter =
    "Start with 'heddle devices', then 'heddle tune', then 'heddle train DATA'; 'heddle help COMMAND' tells more.\n"
    "Exit codes: 0 done, 2 wrong usage, 3 bad input, 4 no such device or toolchain, 5 profile database, 1 a bug,\n"
    "130 interrupted.";

/// Shows a flag and its opposite as "--shuffle,--no-shuffle".
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    constexpr std::string_view kOpposite = "{false}";
    if (const std::size_t found = name.find(kOpposite); found != std::string::npos) name.erase(found, kOpposite.size());
    return name;
  }
};

[[noreturn]] void refuse(const CLI::App& program, const std::string& complaint) {
  std::string help = "heddle help";
  for (const CLI::App* named = &program; !named->get_subcommands().empty();) {
    named = named->get_subcommands().front();
    help += " " + named->get_name();
  }
  throw Error(ErrorKind::usage, fmt::format("{}; '{}' tells what can be given", complaint, help));
}

/// The parser's own messages name its mechanisms.
std::string in_our_words(const std::string& message) {
  constexpr std::string_view kOverride = " was given a disallowed flag override";
  if (!message.ends_with(kOverride)) return message;
  return fmt::format("option --{}: takes no value", message.substr(0, message.size() - kOverride.size()));
}

}  // namespace

Command Command::add(const std::string& name, const std::string& meaning) {
  CLI::App& parser = *parser_.add_subcommand(name, meaning);
  parser.get_help_ptr()->disable_flag_override();
  return {parser, chosen_, context_};
}

Command Command::add_hidden(const std::string& name) {
  return {*parser_.add_subcommand(name, "")->group(""), chosen_, context_};
}

void Command::footer(const std::string& text) { parser_.footer(text); }

void Command::action(Action run) {
  Action whole = [checks = checks_, run = std::move(run)] {
    for (const auto& check : checks) check();
    return run();
  };
  parser_.callback([&chosen = chosen_, whole = std::move(whole)] { chosen = whole; });
}

void Command::positional(const std::string& name, const std::string& type, const std::string& meaning,
                         std::string& value) {
  parser_.add_option(name, value, meaning)->type_name(type)->required();
}

void Command::positionals(const std::string& name, const std::string& type, const std::string& meaning,
                          std::vector<std::string>& values) {
  parser_.add_option(name, values, meaning)->type_name(type)->required();
}

void Command::option(const std::string& name, const std::string& type, const std::string& meaning, std::string& value) {
  option(name, type, meaning, [&value, name, type](const std::string& text) {
    if (text.empty()) throw Error(ErrorKind::usage, fmt::format("option {}: found '', expected {}", name, type));
    value = text;
  });
}

void Command::option(const std::string& name, const std::string& type, const std::string& meaning, const Reader& read) {
  parser_.add_option_function(name, read, meaning)->type_name(type)->group(group_);
}

CLI::Option& Command::add_repeated(const std::string& name, const std::string& type, const std::string& meaning,
                                   const Reader& read) {
  const auto read_all = [read](const std::vector<std::string>& values) {
    for (const std::string& value : values) read(value);
  };
  return *parser_.add_option_function<std::vector<std::string>>(name, read_all, meaning)
              ->type_name(type)
              ->group(group_)
              ->allow_extra_args(false);
}

void Command::list(const std::string& name, const std::string& type, const std::string& meaning, const Reader& read) {
  add_repeated(name, type, meaning, read).delimiter(',');
}

void Command::repeated(const std::string& name, const std::string& type, const std::string& meaning,
                       const Reader& read) {
  add_repeated(name, type, meaning, read);
}

void Command::flag(const std::string& names, const std::string& meaning, bool& value) {
  parser_.add_flag(names, value, meaning)->group(group_)->disable_flag_override();
}

void Command::toggle(const std::string& name, const std::string& meaning, const std::function<void(bool)>& read) {
  const auto read_count = [read](std::int64_t count) { read(count > 0); };
  parser_.add_flag_function(fmt::format("--{0},!--no-{0}", name), read_count, meaning)
      ->group(group_)
      ->disable_flag_override();
}

Action parse(std::vector<std::string> arguments, const Context& context) {
  CLI::App program(kDescription, "heddle");
  program.set_version_flag("--version", "heddle " HEDDLE_VERSION)->disable_flag_override();
  program.get_help_ptr()->disable_flag_override();
  program.formatter(std::make_shared<HelpFormatter>());
  Action chosen;
  Command commands(program, chosen, context);
  add_devices(commands);
  add_tune(commands);
  add_train(commands);
  add_predict(commands);
  add_convert(commands);
  add_fuzzy(commands);
  add_inspect(commands);
  add_profiles(commands);
  add_worker(commands);
  add_search_benchmark(commands);
  program.footer(kFooter);  // after the commands, which would inherit it

  if (arguments.empty()) arguments = {"--help"};
  if (arguments.front() == "help") {  // "help tune" is "tune --help"
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());
  try {
    program.parse(std::move(arguments));
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    program.exit(success, text, text);
    print(text.str());
    return {};
  } catch (const CLI::ExtrasError&) {
    refuse(program, fmt::format("unexpected argument {}", in_quotes(program.remaining(true).front())));
  } catch (const CLI::ParseError& error) {
    refuse(program, in_our_words(error.what()));
  }
  if (!chosen) refuse(program, "no command");
  return chosen;
}

}  // namespace heddle::cli
