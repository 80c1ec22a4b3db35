#include "heddle/runtime/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/train/mlp_trainer.hpp"
#include "heddle/runtime/train/sonfin_trainer.hpp"
#include "heddle/runtime/train/tsk_trainer.hpp"

namespace heddle {

std::string_view text(Ending ending) {
  switch (ending) {
    case Ending::completed:
      return "completed";
    case Ending::target_reached:
      return "target reached";
    case Ending::no_improvement:
      return "no improvement";
    case Ending::stopped:
      return "stopped";
    case Ending::diverged:
      return "diverged";
  }
  return "completed";
}

TrainingResult stopped_at_the_start(const TrainingJob& job) {
  TrainingResult result;
  if (job.resume != nullptr) result.model = *job.resume;
  result.ending = Ending::stopped;
  result.message = "stopped before the first row was learnt";
  return result;
}

TrainingResult Trainer::train(Device& device, const Knowledge& known, const TrainingJob& job,
                              const TrainingObserver& observer) const {
  std::unique_ptr<TrainingRun> run;
  try {
    run = begin(device, known, job, observer);
  } catch (const Interrupted&) {
    return stopped_at_the_start(job);
  }
  std::optional<Ending> ending;
  while (!ending) ending = run->advance();
  return run->finish(*ending);
}

std::unique_ptr<Device> open_device_for(const Trainer& trainer, const std::string& label, const Notice& notice) {
  const auto runs_on = [&](const DeviceIdentity& identity) {
    return std::ranges::all_of(trainer.families(),
                               [&](const KernelFamily* family) { return family->supports(identity.backend); });
  };
  std::string chosen = label;
  if (label.empty()) {
    const std::vector<DeviceListing> listings = list_devices();
    const auto best =
        std::ranges::find_if(listings, [](const DeviceListing& each) { return each.identity.has_value(); });
    const auto first = std::ranges::find_if(
        listings, [&](const DeviceListing& each) { return each.identity && runs_on(*each.identity); });
    if (first != listings.end()) chosen = first->label;
    if (first != best && first != listings.end() && notice) {
      notice(fmt::format("{} has no kernels for --network {}: {} is used", best->label, trainer.name(), chosen));
    }
  }
  auto device = open_device(chosen);
  if (runs_on(device->identity())) return device;
  throw Error(ErrorKind::device,
              fmt::format("option --device: {} has no kernels for --network {}", device->label(), trainer.name()));
}

const std::vector<const Trainer*>& trainers() {
  static const std::vector<const Trainer*> all{&sonfin_trainer(), &tsk_trainer(), &mlp_trainer()};
  return all;
}

const Trainer& trainer(std::string_view name) {
  std::string known;
  for (const Trainer* candidate : trainers()) {
    if (candidate->name() == name) return *candidate;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", candidate->name());
  }
  throw Error(ErrorKind::usage, fmt::format("found the network {}, expected one of {}", in_quotes(name), known));
}

}  // namespace heddle
