// How the commands are told to read data files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/cli/options.hpp"
#include "heddle/runtime/data/dataset.hpp"

namespace heddle::cli {

struct DataArguments {
  std::string label;
  std::optional<Task> task;  ///< unless the model decides
  Header header = Header::detect;
  DataFormat format = DataFormat::detect;
  Categories categories = Categories::refused;
  bool missing_is_category = false;
  std::int64_t rows = 0;  ///< to be drawn; 0: all
};
/// --label, --header, --no-header, --format
void add_data_options(Command& command, DataArguments& arguments);
/// --categories, --missing, --rows: for commands that do not have a model which knows
void add_row_options(Command& command, DataArguments& arguments);
/// --task; `otherwise`: what its help gives as default.
void add_task(Command& command, DataArguments& arguments, std::string_view otherwise);

}  // namespace heddle::cli
