// The program `heddle`: reads the command line, runs one command, turns errors into one line and an exit code.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"

namespace heddle::cli {
namespace {

constexpr const char* description =
    "heddle finds the fastest mapping of fuzzy neural network training on the device at hand, keeps it in a profile\n"
    "database, and trains with it.";

constexpr const char* footer =
    "Start with 'heddle devices', then 'heddle tune', then 'heddle train DATA'; 'heddle help COMMAND' tells more.\n"
    "Exit codes: 0 done, 2 wrong usage, 3 bad input, 4 no such device or toolchain, 5 profile database, 1 a bug,\n"
    "130 interrupted.";

/// `heddle help tune` is `heddle tune --help`.
std::vector<std::string> arguments(int count, char** values) {
  std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.empty()) return {"--help"};
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

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

int run(int count, char** values) {
  CLI::App program(description, "heddle");
  program.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  program.formatter(std::make_shared<HelpFormatter>());
  Action action;
  add_devices(program, action);
  add_tune(program, action);
  add_train(program, action);
  add_predict(program, action);
  add_profiles(program, action);
  program.footer(footer);  // after the commands, which would inherit it
  try {
    std::vector<std::string> reversed = arguments(count, values);
    std::reverse(reversed.begin(), reversed.end());
    program.parse(std::move(reversed));
  } catch (const CLI::Success& success) {
    program.exit(success);
    return 0;
  } catch (const CLI::ExtrasError&) {
    refuse(program, fmt::format("unexpected argument '{}'", program.remaining(true).front()));
  } catch (const CLI::ParseError& error) {
    refuse(program, error.what());
  }
  if (!action) refuse(program, "no command");
  const int code = action();
  flush_output();
  return code;
}

/// One line whatever the text came from.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace
}  // namespace heddle::cli

int main(int count, char** values) {
  using namespace heddle;
  cli::install_signal_handlers();
  try {
    return cli::run(count, values);
  } catch (const Error& error) {
    cli::note(cli::one_line(error.what()));
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    cli::note("out of memory");
    return static_cast<int>(ErrorKind::device);
  } catch (const std::exception& error) {
    cli::note(cli::one_line(fmt::format("a bug: {}", error.what())));
    return static_cast<int>(ErrorKind::bug);
  }
}
