// How the commands are told to read data files.
#pragma once

#include <optional>
#include <string>

#include "heddle/cli/options.hpp"
#include "heddle/runtime/data/dataset.hpp"

namespace heddle::cli {

struct DataArguments {
  std::string label;
  std::optional<Task> task;  ///< unless the model decides
  Header header = Header::detect;
};
/// --label, --header, --no-header
void add_data_options(Command& command, DataArguments& arguments);
/// --task
void add_task(Command& command, DataArguments& arguments);

}  // namespace heddle::cli
