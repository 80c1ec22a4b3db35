#include "heddle/kernels/tsk/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "heddle/kernels/tsk/workload.hpp"

namespace heddle::tsk {
namespace {

Workload small(int order, std::uint64_t seed = 3) { return timing_workload(problem(5, 3, 2, 90), order, seed); }

double error_at(const System& system, const std::vector<double>& consequents, const Workload& work, std::size_t centre,
                double centre_change, std::size_t width, double width_change) {
  Reference moved(system);
  moved.consequents() = consequents;
  moved.centres()[centre] += centre_change;
  moved.widths()[width] += width_change;
  return moved.error(work.rows, work.targets);
}

TEST_CASE("reference: the gradient is the slope of the error with consequents fixed") {
  for (const int order : {0, 1}) {
    const Workload work = small(order);
    Reference reference(work.system);
    CHECK_FALSE(reference.solve({work.rows, work.targets}, 0.0));
    const Reference::Gradient gradient = reference.gradient({work.rows, work.targets});
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < reference.centres().size(); ++i) {
      const auto slope = [&](double by_centre, double by_width) {
        return (error_at(work.system, reference.consequents(), work, i, by_centre, i, by_width) -
                error_at(work.system, reference.consequents(), work, i, -by_centre, i, -by_width)) /
               (2 * kStep);
      };
      CHECK(slope(kStep, 0.0) == doctest::Approx(gradient.centres[i]).epsilon(1e-5).scale(0.01));
      CHECK(slope(0.0, kStep) == doctest::Approx(gradient.widths[i]).epsilon(1e-5).scale(0.01));
    }
  }
}

TEST_CASE("reference: no other consequents have a smaller error") {
  for (const int order : {0, 1}) {
    const Workload work = small(order);
    Reference reference(work.system);
    reference.solve({work.rows, work.targets}, 0.0);
    const double least = reference.error(work.rows, work.targets);
    for (std::size_t i = 0; i < reference.consequents().size(); ++i) {
      for (const double change : {1e-3, -1e-3}) {
        Reference other = reference;
        other.consequents()[i] += change;
        CHECK(other.error(work.rows, work.targets) > least);
      }
    }
  }
}

TEST_CASE("reference: rules on top of each other get a ridge, and finite consequents") {
  Workload work = small(0);
  for (std::size_t j = 0; j < 3; ++j) {
    work.system.centres[3 + j] = work.system.centres[j];
    work.system.widths[3 + j] = work.system.widths[j];
  }
  Reference reference(work.system);
  CHECK(reference.solve({work.rows, work.targets}, 0.0));
  for (const double value : reference.consequents()) CHECK(std::isfinite(value));
  // A ridge shares out equally what two equal rules say.
  CHECK(reference.consequents()[0] == doctest::Approx(reference.consequents()[2]).epsilon(1e-6));
}

TEST_CASE("step: 10 % longer after four falling errors, 10 % shorter after two swings, and not at once again") {
  Control control{};
  control.end = 100;
  Progress progress = first_progress(1.0);
  for (const double error : {9.0, 8.0, 7.0, 6.0}) count_iteration(control, progress, error, 0.0, false);
  CHECK(progress.step == 1.0);
  CHECK(count_iteration(control, progress, 5.0, 0.0, false));
  CHECK(progress.step == doctest::Approx(1.1));
  count_iteration(control, progress, 4.0, 0.0, false);
  CHECK(progress.step == doctest::Approx(1.1));
  CHECK_FALSE(count_iteration(control, progress, 5.0, 0.0, false));
  for (const double error : {4.5, 5.5}) count_iteration(control, progress, error, 0.0, false);
  CHECK(progress.step == doctest::Approx(0.99));
  CHECK(progress.best_iteration == 6);
  CHECK(progress.best_error == 4.0);
}

TEST_CASE("step: held back rows decide what is best and when it is enough; infinity ends training") {
  Control control{};
  control.held_back = 5;
  control.patience = 2;
  Progress progress = first_progress(1.0);
  CHECK(count_iteration(control, progress, 9.0, 1.0, false));
  CHECK_FALSE(count_iteration(control, progress, 8.0, 1.5, true));
  CHECK(progress.halted == kGoesOn);
  CHECK_FALSE(count_iteration(control, progress, 7.0, 1.2, false));
  CHECK(progress.halted == kNoImprovement);
  CHECK(progress.ridges == 1);
  Progress lost = first_progress(1.0);
  CHECK_FALSE(count_iteration(control, lost, std::nan(""), 0.0, false));
  CHECK(lost.halted == kDiverged);
  CHECK(lost.iteration == 0);
}

}  // namespace
}  // namespace heddle::tsk
