#include "heddle/cli/data_options.hpp"

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::cli {

void add_data_options(Command& command, DataArguments& arguments) {
  command.option("--label", "COLUMN",
                 "Column with the label or target: first, last, its number from 1, its name in the header,\n"
                 "or file:PATH [default: last; none in an IDX file]",
                 arguments.label);
  command.toggle("header", "Whether line 1 of a text holds the columns' names [default: seen from its fields]",
                 [&arguments](bool present) { arguments.header = present ? Header::present : Header::absent; });
}

void add_task(Command& command, DataArguments& arguments) {
  const auto read = [&arguments](const std::string& word) {
    if (word != "classify" && word != "regress") {
      throw Error(ErrorKind::usage, "option --task: found " + in_quotes(word) + ", expected classify or regress");
    }
    arguments.task = word == "regress" ? Task::regress : Task::classify;
  };
  command.option("--task", "TASK", "classify or regress [default: classify, or what a resumed model does]", read);
}

}  // namespace heddle::cli
