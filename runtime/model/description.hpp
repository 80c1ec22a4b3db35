// A model in words and numbers: what `heddle inspect` prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heddle {

struct Model;

/// For people.
struct Description {
  std::vector<std::string> sentences;  ///< one for each rule, or whatever a network consists of; printed with numbers
  struct Column {
    std::string title;
    bool number = false;  ///< stands on the right
  };
  std::vector<Column> columns;                  ///< of the table below them
  std::vector<std::vector<std::string>> cells;  ///< row after row
};

[[nodiscard]] Description describe(const Model& model);
/// The same as an object: members that depend on the network's kind.
[[nodiscard]] nlohmann::ordered_json document(const Model& model);

}  // namespace heddle
