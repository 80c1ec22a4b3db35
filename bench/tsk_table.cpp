// Batch least squares and gradient on the truck problem: 35 rules, order 0, so many iterations over grids of samples.
// For each size the default configuration, the published split, and the fastest of a seeded sample of the space, which
// is verified against the float64 reference before it counts. The floor beside it is the arithmetic of the normal
// equations in float64 and of everything else in float32 at the rates given. Prints JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "heddle/kernels/tsk/reference.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/train/tsk_start.hpp"
#include "heddle/tuner/verify.hpp"
#include "truck.hpp"

namespace heddle {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string device;
  std::vector<int> points{16, 32, 64, 128, 256, 512, 1024};
  int iterations = 100, sampled = 40, repetitions = 7, reference = 0;
  double float64_rate = 34e12, float32_rate = 67e12;  // operations per second: an H200
};

struct Data {
  tsk::System system;
  tsk::Control control{};
  std::vector<float> rows, targets;
};

Data truck(int points, int iterations) {
  std::vector<float> rows, targets;
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const double x = 100.0 * i / (points - 1), phi = -90.0 + 360.0 * j / (points - 1);
      rows.push_back(static_cast<float>(x));
      rows.push_back(static_cast<float>(phi));
      targets.push_back(static_cast<float>(bench::truck_steering(x, phi)));
    }
  }
  Data data;
  data.rows = fit_scaling(Scale::minmax, rows, 2).apply(rows);
  data.targets = fit_scaling(Scale::zscore, targets, 1).apply(targets);
  data.system = grid_of_sets(data.rows, {5, 7}, 100);
  data.system.outputs = 1;
  data.system.consequents.assign(35, 0.0F);
  const int count = points * points;
  data.control = {.all = {.rules = 35, .rows = count},
                  .rows = count,
                  .held_back = 0,
                  .end = iterations,
                  .patience = 0,
                  .plain_step = 0,
                  .rate = 0.0F,
                  .minimum_width = 0.01F,
                  .ridge = 0.0F,
                  .target_error = 0.0F};
  return data;
}

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
std::span<const std::byte> bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// One configuration with the data on the device.
class Run {
 public:
  Run(Device& device, const Configuration& configuration, const Data& data) : data_(data) {
    const KernelFamily& family = tsk::constant_family();
    const Problem problem = tsk::problem(35, 2, 1, data.control.rows);
    const Plan plan = family.plan(configuration, problem, device.identity(), std::int64_t{10} * data.control.rows);
    const auto binary = compile_one(device, {&family.source(device.identity().backend), plan.kernels}).binary;
    execution_ = device.prepare(plan, binary);
    execution_->memory("rows").write(bytes(data.rows));
    execution_->memory("targets").write(bytes(data.targets));
    execution_->memory("control").write(bytes(data.control));
  }
  /// Seconds for `iterations`, from the start.
  double time(int iterations) {
    for (const char* prefix : {"", "best_"}) {
      execution_->memory(std::string(prefix) + "centres").write(bytes(data_.system.centres));
      execution_->memory(std::string(prefix) + "widths").write(bytes(data_.system.widths));
      execution_->memory(std::string(prefix) + "consequents").write(bytes(data_.system.consequents));
    }
    execution_->memory("progress").write(bytes(tsk::first_progress(0.02)));
    execution_->synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int done = 0; done < iterations; done += 10) execution_->launch();
    execution_->synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  [[nodiscard]] tsk::Progress progress() {
    tsk::Progress progress{};
    execution_->memory("progress").read(std::as_writable_bytes(std::span(&progress, 1)));
    return progress;
  }

 private:
  const Data& data_;
  std::unique_ptr<Execution> execution_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Json measure(Device& device, const std::string& name, const Configuration& configuration, const Data& data,
             const Options& options) {
  Json row{{"name", name}, {"rows", data.control.rows}, {"configuration", configuration.text()}};
  try {
    const Verdict verdict =
        verify(device, tsk::constant_family(), configuration, tsk::problem(35, 2, 1, data.control.rows), 1);
    row["status"] = text(verdict.status);
    row["worst_error"] = verdict.worst_error;
    row["message"] = verdict.message;
    Run run(device, configuration, data);
    static_cast<void>(run.time(options.iterations));
    std::vector<double> seconds;
    for (int i = 0; i < options.repetitions; ++i) seconds.push_back(run.time(options.iterations));
    row["milliseconds"] = 1e3 * median(seconds);
    row["microseconds_per_iteration"] = 1e6 * median(seconds) / options.iterations;
    const tsk::Progress progress = run.progress();
    row["iterations"] = progress.iteration;
    row["best_error"] = progress.best_error;
  } catch (const DeviceFailure& failure) {
    row["status"] = text(failure.status());
    row["message"] = failure.what();
  }
  return row;
}

/// The fastest of a sample over ten iterations.
std::vector<Configuration> fastest(Device& device, const Data& data, const Options& options) {
  std::vector<Configuration> all =
      tsk::constant_family().space(device.identity()).enumerate(tsk::problem(35, 2, 1, data.control.rows));
  std::mt19937 generator(1);
  std::shuffle(all.begin(), all.end(), generator);
  all.resize(std::min<std::size_t>(all.size(), static_cast<std::size_t>(options.sampled)));
  std::vector<std::pair<double, Configuration>> timed;
  for (const Configuration& configuration : all) {
    if (configuration.has("scheme") && configuration.word("scheme") == "sample") continue;
    try {
      Run run(device, configuration, data);
      static_cast<void>(run.time(10));
      timed.emplace_back(std::min(run.time(10), run.time(10)), configuration);
    } catch (const DeviceFailure& failure) {
      std::cerr << configuration.text() << ": " << failure.what() << "\n";
    }
  }
  std::sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Configuration> best;
  for (std::size_t i = 0; i < std::min<std::size_t>(timed.size(), 3); ++i) best.push_back(timed[i].second);
  return best;
}

double floor_microseconds(double rows, const Options& options) {
  constexpr double kUnknowns = 35;
  const double normal = rows * kUnknowns * (kUnknowns + 3);            // float64
  const double rest = 2 * rows * kUnknowns * (4 * 2 + 8 + 4 + 5 * 2);  // float32: two passes
  return 1e6 * (normal / options.float64_rate + rest / options.float32_rate);
}

int run(const Options& options) {
  const auto device = open_device(options.device);
  Json rows = Json::array();
  for (const int points : options.points) {
    const Data data = truck(points, options.iterations);
    const Problem problem = tsk::problem(35, 2, 1, data.control.rows);
    const KernelFamily& family = tsk::constant_family();
    Json of_size = Json::array();
    of_size.push_back(
        measure(*device, "default", family.default_configuration(device->identity(), problem), data, options));
    for (const NamedConfiguration& named : family.named_configurations(device->identity())) {
      if (const auto configuration = named.configuration(problem)) {
        of_size.push_back(measure(*device, named.name, *configuration, data, options));
      }
    }
    for (const Configuration& configuration : fastest(*device, data, options)) {
      of_size.push_back(measure(*device, "found", configuration, data, options));
    }
    for (Json& row : of_size) {
      row["floor_microseconds_per_iteration"] = floor_microseconds(data.control.rows, options);
      std::cerr << row.dump() << "\n";
      rows.push_back(row);
    }
    if (points <= options.reference) {
      tsk::Reference reference(data.system);
      tsk::Progress progress = tsk::first_progress(0.02);
      for (int i = 0; i < options.iterations; ++i) reference.iterate({data.rows, data.targets}, data.control, progress);
      rows.push_back({{"name", "float64 LAPACK"}, {"rows", data.control.rows}, {"best_error", progress.best_error}});
      std::cerr << rows.back().dump() << "\n";
    }
  }
  std::cout << Json{{"device", device->label()},
                    {"name", device->identity().name},
                    {"iterations", options.iterations},
                    {"rows", rows}}
                   .dump(1)
            << "\n";
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) try {
  heddle::Options options;
  CLI::App app("Batch least squares and gradient on the truck problem");
  app.add_option("--device", options.device);
  app.add_option("--points", options.points, "grid points per input")->delimiter(',');
  app.add_option("--iterations", options.iterations);
  app.add_option("--sampled", options.sampled, "configurations of the space to try");
  app.add_option("--repetitions", options.repetitions);
  app.add_option("--reference", options.reference, "run the float64 reference up to this many points");
  CLI11_PARSE(app, count, values);
  return heddle::run(options);
} catch (const heddle::Error& error) {
  std::cerr << error.what() << "\n";
  return static_cast<int>(error.kind());
}
