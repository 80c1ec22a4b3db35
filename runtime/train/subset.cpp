#include "heddle/runtime/train/subset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/runtime/train/shuffle.hpp"

namespace heddle {

namespace {

// Streams of permutation() that training does not use: it has 0 for the validation part and counts epochs from 1.
constexpr std::uint64_t kRowsStream = ~std::uint64_t{0}, kFoldsStream = kRowsStream - 1;

}  // namespace

Dataset select(const Dataset& from, std::span<const std::int32_t> rows) {
  Dataset part{.source = from.source,
               .task = from.task,
               .dim = from.dim,
               .inputs = {},
               .labels = {},
               .classes = from.classes,
               .targets = {},
               .targets_per_row = from.targets_per_row,
               .input_names = from.input_names,
               .target_names = from.target_names,
               .coding = from.coding,
               .input_ranges = from.input_ranges,
               .target_ranges = from.target_ranges,
               .remarks = from.remarks};
  part.inputs.reserve(rows.size() * at(from.dim));
  part.numbers.reserve(rows.size());
  for (const std::int32_t row : rows) {
    part.numbers.push_back(from.row_number(at(row)));
    const auto inputs = from.row(row);
    part.inputs.insert(part.inputs.end(), inputs.begin(), inputs.end());
    if (from.task == Task::classify) {
      part.labels.push_back(from.labels[at(row)]);
    } else {
      const auto targets = from.targets.begin() + row * from.targets_per_row;
      part.targets.insert(part.targets.end(), targets, targets + from.targets_per_row);
    }
  }
  return part;
}

Dataset draw_rows(const Dataset& from, std::int64_t count, std::uint64_t seed) {
  if (count < 1 || count > from.rows()) {
    throw Error(ErrorKind::usage,
                fmt::format("--rows: found {}, expected 1 to {}, as many as {} has", count, from.rows(), from.source));
  }
  std::vector<std::int32_t> order = permutation(from.rows(), seed, kRowsStream);
  order.resize(at(count));
  std::ranges::sort(order);
  return select(from, order);
}

std::vector<std::vector<std::int32_t>> deal_folds(const Dataset& data, std::int64_t folds, std::uint64_t seed) {
  if (data.rows() < 2) {
    throw Error(ErrorKind::input, fmt::format("{}: found one row, expected at least 2 for --folds", data.source));
  }
  if (folds < 2 || folds > data.rows()) {
    throw Error(ErrorKind::usage, fmt::format("--folds: found {}, expected 2 to {}, as many as {} has rows", folds,
                                              data.rows(), data.source));
  }
  std::vector<std::int32_t> order = permutation(data.rows(), seed, kFoldsStream);
  if (data.task == Task::classify)
    std::ranges::stable_sort(order, {}, [&](std::int32_t row) { return data.labels[at(row)]; });
  std::vector<std::vector<std::int32_t>> parts(at(folds));
  for (std::size_t i = 0; i < order.size(); ++i) parts[i % parts.size()].push_back(order[i]);
  for (auto& part : parts) std::ranges::sort(part);
  return parts;
}

}  // namespace heddle
