#include "heddle/bench/runs/training_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/model/model.hpp"
#include "heddle/runtime/train/sonfin_options.hpp"

namespace heddle::bench {

namespace {

/// One line of the list; without a file the set is drawn.
struct Entry {
  std::string name, file, label;
  std::int64_t rules, dim, rows;  ///< dim: of a drawn set; rows: at most; 0: all
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{
      {"letter", "letter-recognition.data.gz", "first", 642, 0, 0},
      {"pendigits", "pendigits.tra.gz", "last", 517, 0, 0},
      {"usps", "zip.train.gz", "first", 608, 0, 0},
      {"isolet", "isolet1+2+3+4.csv.gz", "last", 972, 0, 0},
      {"madelon", "madelon_train.data.gz", "file:madelon_train.labels", 760, 0, 0},
      {"mnist-10000", "train-images-idx3-ubyte.gz", "file:train-labels-idx1-ubyte.gz", 500, 0, 10000},
      {"random-32", "", "", 525, 32, 10000},
      {"random-256", "", "", 512, 256, 10000},
      {"random-1024", "", "", 276, 1024, 10000},
      {"random-2048", "", "", 152, 2048, 5000},
      {"random-5000", "", "", 949, 5000, 5000},
  };
  return all;
}

/// Not in the published table, and run only where it is asked for. Every row makes a rule until there are 949, so that
/// all rules are there after a tenth of the rows: how much longer an epoch takes in which the network grows is told
/// by a set of which it grows for a small part.
const Entry& long_set() {
  static const Entry entry{"random-5000-long", "", "", 949, 5000, 10000};
  return entry;
}

const Entry& find_entry(const std::string& name) {
  if (name == long_set().name) return long_set();
  const auto entry = std::ranges::find(entries(), name, &Entry::name);
  if (entry == entries().end()) {
    throw Error(ErrorKind::usage, fmt::format("found set '{}', expected some of {}, {}", name,
                                              fmt::join(training_set_names(), ", "), long_set().name));
  }
  return *entry;
}

std::filesystem::path find(const std::filesystem::path& folder, const std::string& name) {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    if (file.path().filename() == name) found.push_back(file.path());
  }
  if (found.empty()) throw Error(ErrorKind::input, fmt::format("{}: no {} there or below", folder.string(), name));
  return *std::ranges::min_element(found);
}

Dataset read(const Entry& entry, const std::filesystem::path& folder) {
  std::string label = entry.label;
  if (label.starts_with("file:")) label = "file:" + find(folder, label.substr(5)).string();
  return load_dataset(find(folder, entry.file), {.label = label});
}

void keep_first(Dataset& data, std::int64_t rows) {
  if (rows <= 0 || rows >= data.rows()) return;
  data.inputs.resize(static_cast<std::size_t>(rows * data.dim));
  if (!data.labels.empty()) data.labels.resize(static_cast<std::size_t>(rows));
  if (!data.targets.empty()) data.targets.resize(static_cast<std::size_t>(rows * data.targets_per_row));
}

Dataset draw(const Entry& entry) {
  Dataset data;
  data.source = entry.name;
  data.task = Task::regress;
  data.dim = entry.dim;
  data.targets_per_row = 1;
  data.inputs.resize(static_cast<std::size_t>(entry.rows * entry.dim));
  data.targets.resize(static_cast<std::size_t>(entry.rows));
  std::mt19937 random(1);
  const auto uniform = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  std::ranges::generate(data.inputs, uniform);
  std::ranges::generate(data.targets, uniform);
  return data;
}

}  // namespace

const std::vector<std::string>& training_set_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Entry& entry : entries()) list.push_back(entry.name);
    return list;
  }();
  return names;
}

TrainingSet load_training_set(const std::string& name, const std::filesystem::path& folder, std::int64_t rows) {
  const Entry& entry = find_entry(name);
  Dataset data = entry.file.empty() ? draw(entry) : read(entry, folder);
  keep_first(data, entry.rows);
  keep_first(data, rows);
  OptionValues options(sonfin_options());
  options.set("max-rules", std::to_string(entry.rules));
  const Model model = model_for(data, options, SonfinModel::untaught(data.dim, data.outputs()));
  TrainingSet set{.name = name, .rules = entry.rules, .rows = {}, .options = {}};
  set.rows = learning_rows(model, data);
  set.options = hyperparameters(options, spread(set.rows.rows, data.dim));
  return set;
}

}  // namespace heddle::bench
