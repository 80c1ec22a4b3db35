// Trains a fuzzy network on text files of numbers whose last column is the class, with the profiles that `heddle tune`
// left on this machine, and saves the model.
#include <cstdio>
#include <exception>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/trainer.hpp"

int main(int argc, char** argv) try {
  if (argc != 4) throw heddle::Error(heddle::ErrorKind::usage, "expected TRAINING-DATA TEST-DATA MODEL");
  const auto device = heddle::open_device("");  // the best one here; "cuda:1" or "cpu" name one
  const heddle::ProfileStore store(heddle::ProfileStore::default_file(), heddle::ProfileStore::Access::read);
  const heddle::Dataset train = heddle::load_dataset(argv[1]);
  const heddle::Dataset test = heddle::load_dataset(argv[2], {.expected = heddle::expectation(train)});

  const heddle::Trainer& trainer = heddle::trainer("sonfin");
  heddle::TrainingJob job{.train = &train, .test = &test, .options = heddle::OptionValues(trainer.options())};
  job.options.set("max-rules", "300");
  const auto report = [](const heddle::EpochReport& epoch) {
    std::printf("epoch %2d: %s, accuracy %.2f %%, %.2f us per sample\n", static_cast<int>(epoch.epoch),
                epoch.size.text.c_str(), 100 * epoch.test->value, epoch.microseconds_per_sample);
  };
  const heddle::TrainingResult result = trainer.train(*device, store.knowledge(), job, {.epoch = report});
  heddle::save_model(result.model, argv[3]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "train: %s\n", error.what());
  return 1;
}
