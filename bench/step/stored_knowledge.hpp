// What a profile database has measured on a device, for the search of one mapping for all sizes.
#pragma once

#include <optional>
#include <vector>

#include "heddle/bench/step/fixed_mapping.hpp"
#include "heddle/profiles/cost_model.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/transfer.hpp"

namespace heddle::bench {

/// Of the evaluator's family on its device, with the kernels of now. The family must outlive it.
class StoredKnowledge {
 public:
  StoredKnowledge(const Evaluator& evaluator, const ProfileStore& store);
  StoredKnowledge(const StoredKnowledge&) = delete;
  StoredKnowledge& operator=(const StoredKnowledge&) = delete;

  /// Refers to this object.
  [[nodiscard]] FixedKnowledge known() const { return {.winners = winners_, .costs = &costs_}; }

 private:
  std::vector<Configuration> winners_;  // those of most problems first
  std::optional<CostModel> model_;
  Transfer costs_;
};

}  // namespace heddle::bench
