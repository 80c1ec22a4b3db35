#include "heddle/cli/metrics_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/counted.hpp"

namespace heddle::cli {
namespace {

std::string percent(const std::optional<double>& part) {
  return part ? fmt::format("{:.2f} %", 100 * *part) : std::string("-");
}

std::string class_text(const Metrics& metrics) {
  Table table({{.title = "class", .align = Table::Align::left},
               {.title = "rows", .align = Table::Align::right},
               {.title = "precision", .align = Table::Align::right},
               {.title = "recall", .align = Table::Align::right},
               {.title = "F1", .align = Table::Align::right}});
  for (const ClassMetrics& each : metrics.classes) {
    table.row({each.name, std::to_string(each.rows), percent(each.precision), percent(each.recall), percent(each.f1)});
  }
  return table.text();
}

std::string confusion_text(const Metrics& metrics) {
  constexpr std::size_t kMostClasses = 32;
  const std::size_t count = metrics.classes.size();
  if (count > kMostClasses) return {};
  std::vector<Table::Column> columns{{.title = "is \\ predicted", .align = Table::Align::left}};
  columns.reserve(count + 1);
  for (const ClassMetrics& each : metrics.classes) {
    columns.push_back({.title = each.name, .align = Table::Align::right});
  }
  Table table(std::move(columns));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> row{metrics.classes[i].name};
    row.reserve(count + 1);
    for (std::size_t j = 0; j < count; ++j) row.push_back(std::to_string(metrics.confusion[i * count + j]));
    table.row(row);
  }
  return "\n" + table.text();
}

std::string target_text(const Metrics& metrics) {
  Table table({{.title = "output", .align = Table::Align::left},
               {.title = "RMSE", .align = Table::Align::right},
               {.title = "R2", .align = Table::Align::right}});
  for (const TargetMetrics& each : metrics.targets) {
    table.row({each.name, fmt::format("{:.5g}", each.rmse), each.r2 ? fmt::format("{:.5f}", *each.r2) : "-"});
  }
  return table.text();
}

}  // namespace

std::string metrics_text(const Metrics& metrics, const std::string& source) {
  if (!metrics.targets.empty()) {
    return fmt::format("metrics of {}, {}\n{}", source, counted(metrics.rows, "row"), target_text(metrics));
  }
  return fmt::format("metrics of {}, {}: accuracy {:.2f} %, mean F1 {}\n{}{}", source, counted(metrics.rows, "row"),
                     100 * metrics.accuracy, percent(metrics.macro_f1), class_text(metrics), confusion_text(metrics));
}

}  // namespace heddle::cli
