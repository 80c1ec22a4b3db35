// Commands of the program and their options. Hides the parser of the command line, whose header takes longer to
// compile than all else here.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/context.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heddle::cli {

/// What a command does once its arguments are read; returns the exit code. Throws heddle::Error.
using Action = std::function<int()>;
/// Takes the text of one value. Throws Error(usage) that names the option, what was found and what was expected.
using Reader = std::function<void(const std::string& value)>;

/// One command, or the program itself. A view: copies declare options of the same command. What options refer to has to
/// live until the action has run.
class Command {
 public:
  Command(CLI::App& parser, Action& chosen, const Context& context)
      : parser_(parser), chosen_(chosen), context_(context) {}

  /// Lives until the action has run.
  [[nodiscard]] const Context& context() const noexcept { return context_; }
  /// `heddle ... NAME`
  Command add(const std::string& name, const std::string& meaning);
  /// One that help does not show: the program calls it itself.
  Command add_hidden(const std::string& name);
  /// Lines below the options in the help.
  void footer(const std::string& text);
  /// What runs when the command line names this command.
  void action(Action run);
  /// Actions declared from now on, by this object, begin with this. Throws Error where the command cannot run.
  void begin_with(std::function<void()> check) { checks_.push_back(std::move(check)); }

  /// `type`: what help shows for the value, "FILE".
  void positional(const std::string& name, const std::string& type, const std::string& meaning, std::string& value);
  /// One or more.
  void positionals(const std::string& name, const std::string& type, const std::string& meaning,
                   std::vector<std::string>& values);
  void option(const std::string& name, const std::string& type, const std::string& meaning, std::string& value);
  void option(const std::string& name, const std::string& type, const std::string& meaning, const Reader& read);
  /// May be given several times, or once with values between commas; `read` gets one at a time.
  void list(const std::string& name, const std::string& type, const std::string& meaning, const Reader& read);
  /// May be given several times; `read` gets one value at a time, commas and all.
  void repeated(const std::string& name, const std::string& type, const std::string& meaning, const Reader& read);
  void flag(const std::string& names, const std::string& meaning, bool& value);
  /// --NAME and --no-NAME.
  void toggle(const std::string& name, const std::string& meaning, const std::function<void(bool)>& read);
  /// Options declared from now on, by this object, stand under a title of their own in the help.
  void group(std::string title) { group_ = std::move(title); }

 private:
  CLI::Option& add_repeated(const std::string& name, const std::string& type, const std::string& meaning,
                            const Reader& read);

  CLI::App& parser_;
  Action& chosen_;
  const Context& context_;
  std::string group_ = "Options";
  std::vector<std::function<void()>> checks_;
};

/// One file each: declares a command with its options.
void add_devices(Command& program);
void add_tune(Command& program);
void add_train(Command& program);
void add_predict(Command& program);
void add_convert(Command& program);
void add_fuzzy(Command& program);
void add_inspect(Command& program);
void add_profiles(Command& program);
void add_worker(Command& program);
void add_search_benchmark(Command& program);

/// Reads a whole command line, the program's name left out. Returns what is to be done; nothing if help or the version
/// was asked for and has been printed. Throws Error(usage), and what a Reader throws.
/// `context` has to live until the action has run.
[[nodiscard]] Action parse(std::vector<std::string> arguments, const Context& context);

}  // namespace heddle::cli
