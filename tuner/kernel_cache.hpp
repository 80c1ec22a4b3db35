// Compiled kernels in memory, shared by all that run on one device: searches, verification, references.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Kernels that are compiled or being compiled, by their source and the expressions that name them. Whoever needs the
/// kernels of another batch waits for that batch. From one thread at a time; the device must outlive it.
class KernelCache {
 public:
  explicit KernelCache(Device& device) : device_(device) {}

  struct Entry {
    CompileOutcome outcome;
    double unreported_seconds = 0.0;  ///< seconds of the compiler that no caller was told of
  };

  /// A batch in flight. Lives as long as somebody holds it.
  class Batch {
   public:
    explicit Batch(KernelCache& cache) : cache_(cache) {}
    ~Batch() { cache_.drop(std::move(compiling_)); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    /// Starts no further compilation.
    void wind_up() { compiling_->wind_up(); }

   private:
    friend class KernelCache;
    KernelCache& cache_;
    std::vector<std::string> keys_;
    std::set<std::string> under_way_;
    std::unique_ptr<CompileBatch> compiling_;
  };

  [[nodiscard]] static std::string key_of(const CompileRequest& request);

  /// Starts to compile the kernels that are neither compiled nor in flight. Nothing if there are none.
  [[nodiscard]] std::shared_ptr<Batch> start(const std::vector<CompileRequest>& wanted);
  /// The outcome, if the kernels were compiled; nothing otherwise.
  [[nodiscard]] Entry* find(const std::string& key);
  /// The batch in flight that compiles these kernels; nothing if there is none.
  [[nodiscard]] std::shared_ptr<Batch> batch_with(const std::string& key) const;
  /// Whether nobody has to wait for these kernels: they are compiled, or their batch is done.
  [[nodiscard]] bool is_done(const std::string& key);
  /// Waits for one more request of the batch. Throws Interrupted as soon as `stop` says so.
  void wait_for_one(Batch& batch, const Stop& stop);
  /// Waits for these kernels, whichever batch they belong to; compiles them if they belong to none.
  Entry& await(const CompileRequest& request);

 private:
  void drop(std::unique_ptr<CompileBatch> batch);

  Device& device_;
  std::map<std::string, Entry> entries_;
  std::vector<std::weak_ptr<Batch>> in_flight_;
  std::vector<std::future<void>> dropped_;
};

}  // namespace heddle
