// Trains a network on a device with the configurations that the profiles suggest, and predicts with it. A new network
// is a kind in runtime/model/network.hpp, a trainer of the same name in this folder, and a line in trainer.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/measurement.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/runtime/model/model.hpp"
#include "heddle/runtime/train/options.hpp"
#include "heddle/runtime/train/predictor.hpp"
#include "heddle/runtime/train/scoring.hpp"

namespace heddle {

/// How much of an epoch ran with which kernel.
struct MappingUse {
  std::int64_t capacity = 0;  ///< what the kernel had room for: rules
  std::string problem;        ///< that was asked for, canonical text
  std::string configuration;  ///< canonical text
  Tier tier = Tier::fallback;
  std::int64_t samples = 0;
  double microseconds_per_sample = 0.0;  ///< learning alone
  std::optional<double> promised;        ///< microseconds per sample, see Candidate::promised
};

struct EpochReport {
  std::int64_t epoch = 0;    ///< from 1, earlier runs of a resumed model counted
  NetworkSize size;          ///< at the end of the epoch
  std::int64_t samples = 0;  ///< learnt in this epoch, in this run
  double train_error = 0.0;  ///< mean E of the epoch's samples, each before its update
  std::optional<Score> validation, test;
  double microseconds_per_sample = 0.0;  ///< learning alone: steps between kernels included, scoring excluded
  double seconds = 0.0;                  ///< wall time of the epoch, scoring included
  std::vector<MappingUse> mappings;      ///< in the order of their use
};

/// Between two epoch reports.
struct TrainingProgress {
  std::int64_t epoch = 0, last_epoch = 0;  ///< both as in EpochReport::epoch
  std::int64_t position = 0, samples = 0;  ///< learnt and to be learnt in this epoch
  std::string size;                        ///< NetworkSize::text
};

struct TrainingResult;

/// Callbacks of a training. All may be empty. They are called from the thread that trains.
struct TrainingObserver {
  std::function<void(const EpochReport&)> epoch = {};
  std::function<void(const TrainingProgress&)> progress = {};  ///< several times a second
  Notice notice = {};
  /// Called between runs of kernels, several times a second unless one run takes longer. Once it returns true, training
  /// ends with the model so far.
  std::function<bool()> stop = {};
  /// Called once, before the first epoch, with the largest number of bytes that the model's file can take, so that the
  /// caller can reserve them.
  std::function<void(std::int64_t bytes)> room = {};
  /// Called at most once a second with the result that training would have if it were stopped here. For a process that
  /// has to end during long work: a run of a large network, the scores of many rows.
  std::function<void(const TrainingResult&)> keep = {};
  /// Called before the first epoch with the model that training begins with (a SONFIN has no rules yet), and after each
  /// report, with its epochs in the history. The network is that of the moment, or the best so far where training keeps
  /// the one of the moment on the device.
  std::function<void(const Model&)> model = {};
};

struct TrainingJob {
  const Dataset* train = nullptr;
  const Dataset* test = nullptr;  ///< optional; labelled; scored after every epoch
  const Model* resume = nullptr;  ///< optional; options that are not set are then the model's own
  OptionValues options;           ///< from Trainer::options()
  /// Optional: the text of weights to begin with, and where it comes from, for messages. For networks that consist of
  /// weights alone (mlp_weights.hpp); not with `resume`.
  struct Weights {
    std::string text, source;
  };
  const Weights* weights = nullptr;
};

enum class Ending {
  completed,       ///< all epochs done
  target_reached,  ///< the train error fell to the option target-error
  no_improvement,  ///< the validation error did not fall for as many epochs as the option patience says
  stopped,         ///< the observer asked for it
  diverged,        ///< the error or a parameter became infinite, NaN or far too large; the model is the last good one
};
[[nodiscard]] std::string_view text(Ending ending);

struct TrainingResult {
  Model model;  ///< with a validation part: the best by validation error; else the last. Can be resumed
  std::vector<EpochReport> epochs;
  std::optional<Score> test;  ///< of the model, where there are test rows and it is of this run
  Ending ending = Ending::completed;
  std::string message;  ///< one line about the ending, empty if completed
};
/// The result of a training that was stopped while its kernels were prepared: the resumed model, or an empty one.
[[nodiscard]] TrainingResult stopped_at_the_start(const TrainingJob& job);

/// A training under way, so that several can take turns on one device. From one thread.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;
  /// Learns until the next report to the observer. Says how the training ends if it ends here; not to be called again
  /// then.
  [[nodiscard]] virtual std::optional<Ending> advance() = 0;
  /// `ending`: what advance() said, or Ending::stopped after any report. Called once, last.
  [[nodiscard]] virtual TrainingResult finish(Ending ending) = 0;
};

/// Stateless and immutable: may be shared between threads.
class Trainer {
 public:
  virtual ~Trainer() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;     ///< "sonfin": also the kind of its networks
  [[nodiscard]] virtual std::string_view meaning() const = 0;  ///< one line
  [[nodiscard]] virtual const std::vector<Option>& options() const = 0;
  /// Whose kernels training and prediction use; a device runs the trainer's networks if all have templates for it.
  [[nodiscard]] virtual const std::vector<const KernelFamily*>& families() const = 0;

  /// `profiles`: any, as ProfileStore::profiles() returns them. The device, the observer and the data of the job must
  /// outlive the run. This function and the run throw Error(input) if data, test data and model do not fit together, or
  /// if training diverged before there was any good model; Error(usage) for options that contradict each other or the
  /// resumed model; DeviceFailure. This function alone throws Interrupted, if the observer says stop before the kernels
  /// are ready.
  [[nodiscard]] virtual std::unique_ptr<TrainingRun> begin(Device& device, const Knowledge& known,
                                                           const TrainingJob& job,
                                                           const TrainingObserver& observer) const = 0;
  /// Predicts with `network`, which is of this trainer's kind, and others like it. The device must outlive it. Throws
  /// DeviceFailure.
  [[nodiscard]] virtual std::unique_ptr<Predictor> predictor(Device& device, const Knowledge& known,
                                                             const AnyNetwork& network, const Notice& notice) const = 0;
  /// A run from its beginning to its end, which is stopped_at_the_start() where begin() is interrupted.
  [[nodiscard]] TrainingResult train(Device& device, const Knowledge& known, const TrainingJob& job,
                                     const TrainingObserver& observer = {}) const;
};

/// The device called `label`, for the networks of a trainer. Without a label: the best one whose kernels there are,
/// with a notice where that is not the best of all. Throws what open_device() throws, and Error(device) for a device
/// that has no kernels for these networks.
[[nodiscard]] std::unique_ptr<Device> open_device_for(const Trainer& trainer, const std::string& label,
                                                      const Notice& notice = {});

/// Every trainer heddle was built with.
[[nodiscard]] const std::vector<const Trainer*>& trainers();
/// Throws Error(usage) with the names there are.
[[nodiscard]] const Trainer& trainer(std::string_view name);

}  // namespace heddle
