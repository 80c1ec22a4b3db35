#include "heddle/cli/data_options.hpp"

#include <CLI/CLI.hpp>

namespace heddle::cli {

void add_data_options(CLI::App& command, DataArguments& arguments) {
  command
      .add_option("--label", arguments.label,
                  "Column with the label or target: first, last, its number from 1, its name in the header,\n"
                  "or file:PATH [default: last; none in an IDX file]")
      ->type_name("COLUMN");
  command.add_flag_function(
      "--header,!--no-header",
      [&arguments](std::int64_t count) { arguments.header = count > 0 ? Header::present : Header::absent; },
      "Whether line 1 of a text holds the columns' names [default: seen from its fields]");
}

void add_task(CLI::App& command, DataArguments& arguments) {
  command
      .add_option_function<std::string>(
          "--task",
          [&arguments](const std::string& word) {
            if (word != "classify" && word != "regress") {
              throw Error(ErrorKind::usage, "option --task: found '" + word + "', expected classify or regress");
            }
            arguments.task = word == "regress" ? Task::regress : Task::classify;
          },
          "classify or regress [default: classify, or what a resumed model does]")
      ->type_name("TASK");
}

}  // namespace heddle::cli
