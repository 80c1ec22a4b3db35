#include "heddle/tuner/kernel_cache.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace heddle {

std::string KernelCache::key_of(const CompileRequest& request) {
  std::string key = fmt::format("{}\n{}", request.source->hash(), request.source->options().text());
  for (const KernelInstance& kernel : request.kernels) key.append("\n").append(kernel.text());
  return key;
}

std::shared_ptr<KernelCache::Batch> KernelCache::start(const std::vector<CompileRequest>& wanted) {
  std::vector<CompileRequest> requests;
  auto batch = std::make_shared<Batch>(*this);
  for (const CompileRequest& request : wanted) {
    std::string key = key_of(request);
    if (find(key) != nullptr || batch_with(key) || !batch->under_way_.insert(key).second) continue;
    requests.push_back(request);
    batch->keys_.push_back(std::move(key));
  }
  if (requests.empty()) return nullptr;
  batch->compiling_ = device_.compile(std::move(requests));
  std::erase_if(in_flight_, [](const auto& other) { return other.expired(); });
  in_flight_.push_back(batch);
  return batch;
}

KernelCache::Entry* KernelCache::find(const std::string& key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::shared_ptr<KernelCache::Batch> KernelCache::batch_with(const std::string& key) const {
  for (const auto& some : in_flight_) {
    if (auto batch = some.lock(); batch && batch->under_way_.contains(key)) return batch;
  }
  return nullptr;
}

bool KernelCache::is_done(const std::string& key) {
  if (find(key) != nullptr) return true;
  const auto batch = batch_with(key);
  return !batch || batch->compiling_->done();
}

void KernelCache::wait_for_one(Batch& batch, const Stop& stop) {
  auto outcome = batch.compiling_->next(stop);
  if (!outcome) {
    batch.under_way_.clear();
    return;
  }
  const std::string& key = batch.keys_[outcome->first];
  batch.under_way_.erase(key);
  Entry& entry = entries_[key];
  entry.unreported_seconds = outcome->second.cached ? 0.0 : outcome->second.seconds;
  entry.outcome = std::move(outcome->second);
}

KernelCache::Entry& KernelCache::await(const CompileRequest& request) {
  const std::string key = key_of(request);
  while (find(key) == nullptr) {
    if (const auto batch = batch_with(key)) {
      wait_for_one(*batch, {});
    } else {
      entries_[key].outcome = compile_one(device_, request);
    }
  }
  return *find(key);
}

/// Destroying a batch waits for the compiler. On a CPU that happens here, because the compiler would disturb the
/// measurements; on a GPU it happens on a thread of its own.
void KernelCache::drop(std::unique_ptr<CompileBatch> batch) {
  if (!batch || device_.identity().backend != "cuda") return;
  std::erase_if(dropped_,
                [](const auto& end) { return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  dropped_.push_back(std::async(std::launch::async, [last = std::move(batch)]() mutable { last.reset(); }));
}

}  // namespace heddle
