#include "heddle/bench/tsk/truck_workload.hpp"

#include <vector>

#include "heddle/bench/tsk/truck.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/train/tsk_start.hpp"

namespace heddle::bench {

tsk::Workload truck_workload(int points, int iterations) {
  std::vector<float> rows, targets;
  for (const TruckRow& row : truck_rows(points)) {
    rows.push_back(static_cast<float>(row.x));
    rows.push_back(static_cast<float>(row.phi));
    targets.push_back(static_cast<float>(row.steering));
  }
  tsk::Workload work;
  work.rows = fit_scaling(Scale::minmax, rows, 2).apply(rows);
  work.targets = fit_scaling(Scale::zscore, targets, 1).apply(targets);
  work.system = grid_of_sets(work.rows, {5, 7}, 100);
  work.system.outputs = 1;
  work.system.consequents.assign(35, 0.0F);
  work.progress = tsk::first_progress(0.02);
  const int count = points * points;
  work.control = {.all = {.rules = 35, .rows = count},
                  .rows = count,
                  .held_back = 0,
                  .end = iterations,
                  .patience = 0,
                  .plain_step = 0,
                  .rate = 0.0F,
                  .minimum_width = 0.01F,
                  .ridge = 0.0F,
                  .target_error = 0.0F};
  return work;
}

}  // namespace heddle::bench
