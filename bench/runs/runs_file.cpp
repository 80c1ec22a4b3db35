#include "heddle/bench/runs/runs_file.hpp"

#include <algorithm>
#include <utility>

#include "heddle/kernels/files.hpp"

namespace heddle::bench {

namespace {

using Json = RunsFile::Json;

/// The sets of a file that was measured under these conditions, else none.
Json known_sets(const std::filesystem::path& file, const Json& conditions) {
  const Json before = Json::parse(file_bytes(file).value_or(""), nullptr, false);
  if (!before.is_object() || !before.contains("sets") || conditions.value("commit", "").empty()) return Json::array();
  const bool same = std::ranges::all_of(conditions.items(), [&](const auto& condition) {
    return before.contains(condition.key()) && before[condition.key()] == condition.value();
  });
  return same ? before["sets"] : Json::array();
}

template <class Document>
auto* find_set(Document& document, const std::string& name) {
  auto& sets = document["sets"];
  const auto found = std::ranges::find_if(sets, [&](const Json& set) { return set.value("name", "") == name; });
  return found == sets.end() ? nullptr : &*found;
}

}  // namespace

RunsFile::RunsFile(std::filesystem::path file, const Json& call, const Json& conditions)
    : file_(std::move(file)), document_(call) {
  document_.update(conditions);
  document_["complete"] = false;
  document_["sets"] = known_sets(file_, conditions);
}

bool RunsFile::has(const std::string& set, const std::string& way) const {
  const Json* const found = find_set(document_, set);
  return found != nullptr && found->at("runs").contains(way);
}

void RunsFile::add(const std::string& set, const Json& about, const std::string& way, Json run) {
  Json* entry = find_set(document_, set);
  if (entry == nullptr) {
    document_["sets"].push_back({{"name", set}});
    entry = &document_["sets"].back();
    entry->update(about);
    (*entry)["runs"] = Json::object();
  }
  (*entry)["runs"][way] = std::move(run);
  write();
}

void RunsFile::end(bool complete) {
  document_["complete"] = complete;
  write();
}

void RunsFile::write() const { write_file(file_, document_.dump(1) + "\n"); }

}  // namespace heddle::bench
