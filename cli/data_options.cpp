#include "heddle/cli/data_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

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
  command.option("--format", "WORD", "Format of the data: table, idx, fann, toman [default: seen from the first lines]",
                 [&arguments](const std::string& word) { arguments.format = parse_data_format(word); });
}

void add_row_options(Command& command, DataArguments& arguments) {
  command.option(
      "--categories", "WORD",
      "How inputs that are words are read: index (place among the words of the column, sorted) or one-hot (an input "
      "for each word) [default: they are refused]",
      [&arguments](const std::string& word) { arguments.categories = parse_categories(word); });
  command.option(
      "--missing", "WORD",
      "category: a missing value (? or nothing) in a column of words is a word of its own [default: it is refused]",
      [&arguments](const std::string& word) {
        if (word != "category") {
          throw Error(ErrorKind::usage, "option --missing: found " + in_quotes(word) + ", expected category");
        }
        arguments.missing_is_category = true;
      });
  command.option(
      "--rows", "N", "Use only N rows, which the seed draws [default: all]", [&arguments](const std::string& text) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arguments.rows);
        if (error != std::errc() || end != text.data() + text.size() || arguments.rows < 1) {
          throw Error(ErrorKind::usage, "option --rows: found " + in_quotes(text) + ", expected a whole number from 1");
        }
      });
}

void add_task(Command& command, DataArguments& arguments, std::string_view otherwise) {
  const auto read = [&arguments](const std::string& word) {
    if (word != "classify" && word != "regress") {
      throw Error(ErrorKind::usage, "option --task: found " + in_quotes(word) + ", expected classify or regress");
    }
    arguments.task = word == "regress" ? Task::regress : Task::classify;
  };
  command.option("--task", "TASK", fmt::format("classify or regress [default: {}]", otherwise), read);
}

}  // namespace heddle::cli
