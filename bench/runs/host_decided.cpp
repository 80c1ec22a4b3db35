#include "heddle/bench/runs/host_decided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/bytes.hpp"
#include "heddle/runtime/train/sonfin_parameters.hpp"

namespace heddle::bench {

Configuration gpu_fnn(const DeviceIdentity& device, const Problem& problem) {
  for (const NamedConfiguration& named : sonfin::train_family().named_configurations(device)) {
    const auto configuration = named.name == "gpu-fnn" ? named.configuration(problem) : std::nullopt;
    if (configuration) return *configuration;
  }
  throw Error(ErrorKind::usage, fmt::format("GPU-FNN cannot run {}", problem.text()));
}

/// The plan of one sample, divided where the host decides: what fires, and what learns.
struct HostDecidedLearner::Rung {
  sonfin::Layout layout;
  std::map<std::string, std::shared_ptr<Memory>, std::less<>> memory;
  std::unique_ptr<Execution> fire, learn;

  [[nodiscard]] Memory& at(std::string_view buffer) const { return *memory.find(buffer)->second; }
};

HostDecidedLearner::HostDecidedLearner(Device& device, const LearningRows& rows, std::int64_t max_rules,
                                       const Variant& variant)
    : rows_(rows) {
  const KernelFamily& family = sonfin::train_family();
  std::map<std::string, std::shared_ptr<Memory>, std::less<>> shared;
  for (const std::int64_t capacity : sonfin::rung_capacities(max_rules)) {
    const Problem problem = sonfin::problem(capacity, rows.dim, rows.outputs);
    const Configuration configuration = variant(problem);
    const Plan plan = family.plan(configuration, problem, device.identity(), 1);
    // Rows are staged and fired; then combined and learnt.
    if (plan.launches.size() != 4) throw Error(ErrorKind::bug, "GPU-FNN is not the four launches that it was");
    auto rung = std::make_unique<Rung>();
    rung->layout = sonfin::train_layout(configuration, problem, device.identity());
    const sonfin::Layout& where = rung->layout;
    const std::map<std::string, std::int64_t> widths{
        {"rows", where.stride}, {"targets", where.target_stride}, {"order", 1}};
    Bindings bindings;
    for (const Buffer& buffer : plan.buffers) {
      const auto width = widths.find(buffer.name);
      std::shared_ptr<Memory>& memory = width == widths.end() ? rung->memory[buffer.name] : shared[buffer.name];
      if (!memory) {
        memory = device.allocate(width == widths.end() ? buffer.bytes : 4 * width->second * rows.count());
        memory->fill(std::byte{0});
      }
      bindings[buffer.name] = rung->memory[buffer.name] = memory;
    }
    Plan fire = plan, learn = plan;
    fire.launches.resize(2);
    learn.launches.erase(learn.launches.begin(), learn.launches.begin() + 2);
    for (Buffer& buffer : learn.buffers) {
      if (buffer.role == Role::scratch) buffer.role = Role::state;  // it begins with what the other left
    }
    const CompileOutcome code = compile_one(device, {&family.source(device.identity().backend), plan.kernels});
    rung->fire = device.prepare(std::move(fire), code.binary, bindings);
    rung->learn = device.prepare(std::move(learn), code.binary, bindings);
    rungs_.push_back(std::move(rung));
  }
  const Rung& first = *rungs_.front();
  first.at("rows").write(sonfin::pack_rows(rows.rows.data(), rows.count(), rows.dim, first.layout.stride));
  first.at("targets").write(
      sonfin::pack_rows(rows.targets.data(), rows.count(), rows.outputs, first.layout.target_stride));
}

HostDecidedLearner::~HostDecidedLearner() = default;

std::int64_t HostDecidedLearner::rules() const { return progress_.rules; }
double HostDecidedLearner::loss() const { return progress_.loss; }

void HostDecidedLearner::learn(const sonfin::Network& network, const sonfin::Control& control,
                               const std::vector<std::int32_t>& order) {
  control_ = control;
  progress_ = {.rules = static_cast<int>(network.rules()), .position = 0, .halted = 0, .reserved = 0, .loss = 0.0};
  const auto enough = [&](const auto& rung) {
    return rung->layout.capacity >= std::max<std::int64_t>(network.rules(), 1);
  };
  rungs_.front()->at("order").write(bytes(order));
  load(static_cast<std::size_t>(std::ranges::find_if(rungs_, enough) - rungs_.begin()), network);
  for (const std::int32_t row : order) {
    rung().fire->launch();
    // Once no rule may follow there is nothing to decide, and the host does not wait for the device.
    if (progress_.rules < control_.max_rules) decide(row);
    rung().learn->launch();
    ++progress_.position;
  }
  rung().learn->synchronize();
  rung().at("progress").read(std::as_writable_bytes(std::span(&progress_, 1)));
}

/// After firing `row`: adds a rule if the firing strengths say so.
void HostDecidedLearner::decide(std::int32_t row) {
  read_firing();
  const auto live = std::span(log_firing_).first(static_cast<std::size_t>(progress_.rules));
  const auto leader = std::ranges::max_element(live);  // the first of equal ones
  if (!live.empty() && *leader > control_.log_threshold) return;
  const std::int64_t index = live.empty() ? -1 : leader - live.begin();
  if (progress_.rules == rung().layout.capacity) {
    load(rung_ + 1, network());
    rung().fire->launch();
    read_firing();
  }
  add_rule(row, index);
}

void HostDecidedLearner::load(std::size_t rung, const sonfin::Network& network) {
  if (progress_.position > 0) this->rung().at("progress").read(std::as_writable_bytes(std::span(&progress_, 1)));
  rung_ = rung;
  std::vector<float> packed;
  for (const sonfin::RuleParameter& parameter : sonfin::kRuleParameters) {
    write_packed(this->rung().at(parameter.buffer), parameter, network.*parameter.values, rungs_[rung]->layout, packed);
  }
  sonfin::Control quiet = control_;
  quiet.log_threshold = -std::numeric_limits<float>::infinity();  // the device decides nothing
  this->rung().at("control").write(bytes(quiet));
  this->rung().at("progress").write(bytes(progress_));
}

void HostDecidedLearner::read_firing() {
  log_firing_.resize(static_cast<std::size_t>(std::max(progress_.rules, 1)));
  rung().at("log_firing").read(std::as_writable_bytes(std::span(log_firing_)));
}

/// As SonfinLearner's kernels add it; `leader`: the rule that fires most, or -1.
void HostDecidedLearner::add_rule(std::int32_t row, std::int64_t leader) {
  const sonfin::Layout& where = rung().layout;
  const auto dim = static_cast<std::size_t>(where.dim), stride = static_cast<std::size_t>(where.stride);
  const std::int64_t row_bytes = 4 * where.stride, rule = progress_.rules;
  const std::span<const float> x(rows_.rows.data() + row * where.dim, dim);
  float width = control_.first_width;
  if (leader >= 0) {
    std::vector<float> centre(stride);
    rung().at("centres").read(std::as_writable_bytes(std::span(centre)), leader * row_bytes);
    float squared = 0.0F;
    for (std::size_t j = 0; j < dim; ++j) squared += (x[j] - centre[j]) * (x[j] - centre[j]);
    width = control_.overlap * (control_.squared_width != 0 ? squared : std::sqrt(squared));
  }
  std::vector<float> centre(stride, 0.0F), widths(stride, 1.0F);
  std::ranges::copy(x, centre.begin());
  std::fill_n(widths.begin(), dim, std::max(width, control_.minimum_width));
  rung().at("centres").write(bytes(centre), rule * row_bytes);
  rung().at("widths").write(bytes(widths), rule * row_bytes);
  // Consequents lie output after output.
  std::vector<float> consequents(static_cast<std::size_t>(where.consequents()));
  rung().at("consequents").read(std::as_writable_bytes(std::span(consequents)));
  for (std::int64_t l = 0; l < where.outputs; ++l) {
    consequents[static_cast<std::size_t>(where.consequent(rule, l))] =
        rows_.targets[static_cast<std::size_t>(row * where.outputs + l)];
  }
  rung().at("consequents").write(bytes(consequents));
  constexpr float kItself = 0.0F;  // the new rule fires with l = 0
  rung().at("log_firing").write(bytes(kItself), 4 * rule);
  rung().at("progress").read(std::as_writable_bytes(std::span(&progress_, 1)));
  ++progress_.rules;
  rung().at("progress").write(bytes(progress_));
}

sonfin::Network HostDecidedLearner::network() {
  const sonfin::Layout& where = rung().layout;
  sonfin::Network network{.dim = where.dim, .outputs = where.outputs, .centres = {}, .widths = {}, .consequents = {}};
  std::vector<float> packed;
  for (const sonfin::RuleParameter& parameter : sonfin::kRuleParameters) {
    read_packed(rung().at(parameter.buffer), parameter, where, progress_.rules, network.*parameter.values, packed);
  }
  return network;
}

}  // namespace heddle::bench
