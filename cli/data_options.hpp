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
/// Whether two names mean one file, which need not exist yet. Pipes and devices are no files.
[[nodiscard]] bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);
/// Throws Error(usage) where `option` would write over a file that is to be read: one of `read`, or the one that a
/// label "file:PATH" among them names.
void check_not_read(const std::string& option, const std::string& written, const std::vector<std::string>& read);
/// Throws Error(usage) where `option` would write over the profile database or a file that SQLite keeps beside it.
/// `profiles`: as --profiles names it; empty: the default.
void check_not_profiles(const std::string& option, const std::string& written, const std::string& profiles);
/// --task; `otherwise`: what its help gives as default.
void add_task(Command& command, DataArguments& arguments, std::string_view otherwise);

}  // namespace heddle::cli
