#include "heddle/cli/fold_table.hpp"

#include <fmt/format.h>

#include "heddle/kernels/counted.hpp"

namespace heddle::cli {
namespace {

std::string quality_text(Task task, double value) {
  return task == Task::classify ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.5g}", value);
}

}  // namespace

std::string FoldTable::line(const FoldResult& fold) {
  std::string text;
  if (!headed_) {
    text = fmt::format(" fold   learnt   tested  epochs  train error  {:>13}  seconds  ending\n",
                       task_ == Task::classify ? "test accuracy" : "test RMSE");
    headed_ = true;
  }
  return text + fmt::format("{:>5}  {:>7}  {:>7}  {:>6}  {:>11}  {:>13}  {:>7.2f}  {}\n", fold.fold, fold.learnt,
                            fold.tested, fold.epochs, fold.train_error ? fmt::format("{:.5f}", *fold.train_error) : "-",
                            quality_text(task_, fold.test.value), fold.seconds, heddle::text(fold.ending));
}

std::string FoldTable::closing(const CrossValidation& all) const {
  return fmt::format("\n{}: mean {} {}, standard deviation {}\n", counted(all.folds.size(), "fold"),
                     task_ == Task::classify ? "accuracy" : "RMSE", quality_text(task_, all.mean),
                     all.spread ? quality_text(task_, *all.spread) : "-");
}

Json folds_document(const CrossValidation& all, const Dataset& data) {
  const char* const measure = data.task == Task::classify ? "accuracy" : "rmse";
  Json folds = Json::array();
  for (const FoldResult& fold : all.folds) {
    folds.push_back({{"fold", fold.fold},
                     {"learnt", fold.learnt},
                     {"tested", fold.tested},
                     {"epochs", fold.epochs},
                     {"train_error", fold.train_error ? Json(*fold.train_error) : Json()},
                     {"test", {{"error", fold.test.error}, {measure, fold.test.value}}},
                     {"ending", text(fold.ending)},
                     {"seconds", fold.seconds}});
  }
  return {{"measure", measure},
          {"folds", folds},
          {"mean", all.folds.empty() ? Json() : Json(all.mean)},
          {"spread", all.spread ? Json(*all.spread) : Json()}};
}

}  // namespace heddle::cli
