// A disk that is full before, while or after a model is learnt: the training is refused at once, or its model is kept.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "cli/program.hpp"
#include "skip.hpp"

namespace heddle::test {
namespace {

/// A small disk of its own, below a folder that is removed later.
class Disk {
 public:
  Disk(const std::filesystem::path& where, const std::string& size) : where_(where) {
    std::filesystem::create_directories(where);
    mounted_ = mount("heddle-test", where.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~Disk() {
    if (mounted_) umount2(where_.c_str(), MNT_DETACH);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }

  /// Until there is no room for one byte more.
  void fill() const {
    std::ofstream file(where_ / "filler", std::ios::binary);
    const std::string bytes(4096, 'x');
    while (file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) {
    }
  }

 private:
  std::filesystem::path where_;
  bool mounted_ = false;
};

constexpr const char* kEpochs = "20000";  // whose history may take 5 MB

std::vector<std::string> training(const std::string& data, const std::string& model) {
  return {"train", data, "--device", "cpu", "--epochs", kEpochs, "--max-rules", "8", "--model", model};
}

TEST_CASE("a disk without room for the model is refused before training") {
  const Workplace place;
  const Disk disk(place.path("disk"), "1m");
  if (!disk.mounted()) return skip("no right to mount a disk");
  const std::string data = place.write("data.csv", table(20'000, 3, 2, 1));
  const Outcome outcome = place.run(training(data, "disk/m"));
  CAPTURE(outcome.out);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.starts_with("heddle: no room for 'disk/m', which may take 5 MiB: No space left"));
  CHECK(outcome.out.find("epoch") == std::string::npos);
}

TEST_CASE("a disk that fills up while training has room for the model") {
  const Workplace place;
  const Disk disk(place.path("disk"), "8m");
  if (!disk.mounted()) return skip("no right to mount a disk");
  const std::string data = place.write("data.csv", table(20'000, 3, 2, 1));
  const Process process = place.start(training(data, "disk/m"));
  place.wait_for(process.out, "us/sample");  // the first epoch is done
  disk.fill();
  kill(process.id, SIGTERM);
  const Outcome outcome = place.wait(process);
  CAPTURE(outcome.err);
  CHECK(outcome.code == 130);
  CHECK(outcome.err.find("the model so far is kept in disk/m") != std::string::npos);
  CHECK(place.run({"predict", "disk/m", data, "--device", "cpu", "--output", "o"}).code == 0);
}

TEST_CASE("a limit on files that the model may exceed is refused before training") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(20'000, 3, 2, 1));
  Limits limits;
  limits.file_bytes = 1 << 20;
  const Outcome outcome = place.run(training(data, "m"), limits);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.starts_with("heddle: no room for 'm'"));
  // Less than the model that was there needs: a signal would end the program.
  REQUIRE(place.run({"train", data, "--device", "cpu", "--epochs", "1", "--model", "m"}).code == 0);
  limits.file_bytes = 100;
  check_refused(place.run({"predict", "m", data, "--device", "cpu", "--output", "o"}, limits), 3, {"cannot write 'o'"});
}

TEST_CASE("a model whose folder has gone is kept elsewhere, as lines of its log are, and one line says where") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(20'000, 3, 2, 1));
  std::filesystem::create_directories(place.path("inner"));
  std::filesystem::create_directories(place.path("temporary"));
  const char* const before = std::getenv("TMPDIR");
  const std::string former = before == nullptr ? "/tmp" : before;
  setenv("TMPDIR", place.path("temporary").c_str(), 1);
  std::vector<std::string> logged = training(data, "inner/m");
  logged.insert(logged.end(), {"--log", "/dev/full"});
  const Process process = place.start(logged);
  setenv("TMPDIR", former.c_str(), 1);
  place.wait_for(process.out, "us/sample");
  std::filesystem::remove_all(place.path("inner"));
  kill(process.id, SIGTERM);
  const Outcome outcome = place.wait(process);
  CAPTURE(outcome.err);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.starts_with(
      "heddle: cannot write '/dev/full': No space left on device; the rest of the log is in '"));
  const auto named_after = [&](const std::string& words) {
    const std::size_t begin = outcome.err.find(words);
    REQUIRE(begin != std::string::npos);
    return outcome.err.substr(begin + words.size(),
                              outcome.err.find('\'', begin + words.size()) - begin - words.size());
  };
  const std::string log = named_after("the rest of the log is in '");
  const std::string kept = named_after("; cannot write 'inner/m': No such file or directory; the model is kept in '");
  for (const std::string& file : {log, kept}) CHECK(file.starts_with(place.path("temporary").string()));
  CHECK(place.read(log).find(R"("ending":"stopped")") != std::string::npos);
  CHECK(place.run({"predict", kept, data, "--device", "cpu", "--output", "o"}).code == 0);
}

}  // namespace
}  // namespace heddle::test
