#include "heddle/runtime/dispatch/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace heddle {

std::vector<std::int64_t> rung_capacities(std::int64_t cap) {
  if (cap < 1) throw Error(ErrorKind::usage, fmt::format("found a cap of {} rules, expected at least 1", cap));
  std::vector<std::int64_t> capacities;
  for (std::int64_t power = 32; power < cap; power *= 2) {
    capacities.push_back(power);
    if (power + power / 2 < cap) capacities.push_back(power + power / 2);
  }
  capacities.push_back(cap);
  return capacities;
}

Ladder::Ladder(Device& device, const Dispatcher& dispatcher, const std::vector<Problem>& problems, Notice notice,
               const Stop& stop)
    : device_(device), dispatcher_(dispatcher), notice_(std::move(notice)), failed_(problems.size(), 0) {
  for (const Problem& problem : problems) {
    rungs_.push_back({.problem = problem, .candidate = dispatcher_.choose(problem), .binary = {}});
  }
  const auto stale = std::ranges::count(rungs_, Tier::stale, [](const Rung& rung) { return rung.candidate.tier; });
  if (notice_ && stale > 0) {
    notice_(
        fmt::format("{}: the kernel source has changed since the profiles for {} of {} sizes were measured; tune again",
                    dispatcher_.family().name(), stale, rungs_.size()));
  }
  compile(stop);
}

std::size_t Ladder::at(std::int64_t rules) const noexcept {
  const auto rung = std::ranges::lower_bound(rungs_, rules, {}, [](const Rung& r) { return r.problem.at("rules"); });
  return std::min<std::size_t>(static_cast<std::size_t>(rung - rungs_.begin()), rungs_.size() - 1);
}

void Ladder::compile(const Stop& stop) {
  const KernelFamily& family = dispatcher_.family();
  for (;;) {
    std::map<Kernels, std::vector<std::size_t>> wanted;  // rungs by the kernels they need
    for (std::size_t i = 0; i < rungs_.size(); ++i) {
      const Rung& rung = rungs_[i];
      if (rung.binary) continue;
      wanted[family.kernels(rung.candidate.configuration, rung.problem, device_.identity())].push_back(i);
    }
    if (wanted.empty()) return;

    std::vector<CompileRequest> requests;
    std::vector<const std::vector<std::size_t>*> users;
    for (const auto& [kernels, rungs] : wanted) {
      requests.push_back({.source = &family.source(device_.identity().backend), .kernels = kernels});
      users.push_back(&rungs);
    }
    const auto batch = device_.compile(std::move(requests));
    while (auto done = batch->next(stop)) {
      const auto& [index, outcome] = *done;
      for (const std::size_t rung : *users[index]) {
        rungs_[rung].binary = outcome.binary;
        if (outcome.binary) continue;
        advance(rung, DeviceFailure(Status::compilation, first_complaint(outcome.log)));
      }
    }
  }
}

void Ladder::advance(std::size_t index, const DeviceFailure& failure) {
  Rung& rung = rungs_[index];
  const std::vector<Candidate> candidates = dispatcher_.candidates(rung.problem);
  if (++failed_[index] == candidates.size()) throw DeviceFailure(failure);
  const Candidate& next = candidates[failed_[index]];
  if (notice_) {
    notice_(fmt::format("{} at {}: {} failed ({}); using {} instead", dispatcher_.family().name(), rung.problem.text(),
                        rung.candidate.configuration.text(), failure.what(), next.configuration.text()));
  }
  rung.candidate = next;
  rung.binary = nullptr;
}

std::unique_ptr<Execution> Ladder::prepare(std::size_t index, std::int64_t samples,
                                           const std::function<Bindings(const Rung&, const Plan&)>& bind,
                                           const std::function<void(const Rung&, Execution&)>& probe) {
  const Rung& rung = rungs_[index];
  for (;;) {
    try {
      Plan plan = dispatcher_.family().plan(rung.candidate.configuration, rung.problem, device_.identity(), samples);
      Bindings bindings = bind ? bind(rung, plan) : Bindings();
      auto execution = device_.prepare(std::move(plan), rung.binary, std::move(bindings));
      probe(rung, *execution);
      return execution;
    } catch (const DeviceFailure& failure) {
      advance(index, failure);
      compile({});  // something has been learnt that shall not be lost
    }
  }
}

}  // namespace heddle
