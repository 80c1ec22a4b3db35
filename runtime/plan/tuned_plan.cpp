#include "heddle/runtime/plan/tuned_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace heddle {

TunedPlan::TunedPlan(Device& device, std::shared_ptr<const Dispatcher> dispatcher, Problem problem, Notice notice)
    : device_(&device),
      dispatcher_(std::move(dispatcher)),
      problem_(std::move(problem)),
      notice_(std::move(notice)),
      candidate_(dispatcher_->choose(problem_)) {}

std::vector<TunedPlan> TunedPlan::choose(Device& device, const std::shared_ptr<const Dispatcher>& dispatcher,
                                         const std::vector<Problem>& problems, const Notice& notice, const Stop& stop) {
  std::vector<TunedPlan> plans;
  plans.reserve(problems.size());
  for (const Problem& problem : problems) plans.push_back(TunedPlan(device, dispatcher, problem, notice));
  const auto is_stale = [](const TunedPlan& plan) { return plan.candidate_.tier == Tier::stale; };
  if (const auto stale = std::ranges::find_if(plans, is_stale); notice && stale != plans.end()) {
    notice(fmt::format("{}: the profiles for {} of {} sizes are stale ({}); tune again", dispatcher->family().name(),
                       std::ranges::count_if(plans, is_stale), plans.size(), change(stale->candidate_.currency)));
  }
  if (const auto& left_out = dispatcher->left_out(); notice && !left_out.empty()) {
    notice(fmt::format("{}: profiles left out, because their sizes are others in this heddle: {}{}",
                       dispatcher->family().name(), left_out.front().reason,
                       left_out.size() > 1 ? fmt::format(", and {} more", left_out.size() - 1) : ""));
  }
  compile(plans, stop);
  return plans;
}

TunedPlan TunedPlan::choose(Device& device, const std::shared_ptr<const Dispatcher>& dispatcher, const Problem& problem,
                            const Notice& notice, const Stop& stop) {
  return std::move(choose(device, dispatcher, std::vector{problem}, notice, stop).front());
}

void TunedPlan::compile(std::span<TunedPlan> plans, const Stop& stop) {
  for (;;) {
    std::map<Kernels, std::vector<TunedPlan*>> wanted;  // by the kernels they need
    for (TunedPlan& plan : plans) {
      if (plan.binary_) continue;
      const KernelFamily& family = plan.dispatcher_->family();
      wanted[family.kernels(plan.configuration(), plan.problem_, plan.device_->identity())].push_back(&plan);
    }
    if (wanted.empty()) return;

    Device& device = *plans.front().device_;
    const TemplateSource& source = plans.front().dispatcher_->family().source(device.identity().backend);
    std::vector<CompileRequest> requests;
    std::vector<const std::vector<TunedPlan*>*> users;
    requests.reserve(wanted.size());
    users.reserve(wanted.size());
    for (const auto& [kernels, waiting] : wanted) {
      requests.push_back({.source = &source, .kernels = kernels});
      users.push_back(&waiting);
    }
    const auto batch = device.compile(std::move(requests));
    while (auto done = batch->next(stop)) {
      const auto& [index, outcome] = *done;
      for (TunedPlan* const plan : *users[index]) {
        plan->binary_ = outcome.binary;
        if (!outcome.binary) plan->replace(DeviceFailure(Status::compilation, first_complaint(outcome.log)));
      }
    }
  }
}

void TunedPlan::replace(const DeviceFailure& failure) {
  const std::vector<Candidate> candidates = dispatcher_->candidates(problem_);
  if (++failed_ == candidates.size()) throw DeviceFailure(failure);
  const Candidate& next = candidates[failed_];
  if (notice_) {
    notice_(fmt::format("{} at {}: {} failed ({}); using {} instead", dispatcher_->family().name(), problem_.text(),
                        configuration().text(), failure.what(), next.configuration.text()));
  }
  candidate_ = next;
  binary_ = nullptr;
}

Execution& TunedPlan::prepare(const Use& use) {
  for (;;) {
    try {
      Plan plan = dispatcher_->family().plan(configuration(), problem_, device_->identity(), use.samples);
      Bindings bindings = use.bind ? use.bind(*this, plan) : Bindings();
      auto execution = device_->prepare(std::move(plan), binary_, std::move(bindings));
      if (use.probe) use.probe(*this, *execution);
      execution_ = std::move(execution);
      return *execution_;
    } catch (const DeviceFailure& failure) {
      replace(failure);
      compile(std::span(this, 1), {});  // something has been learnt that shall not be lost
    }
  }
}

Execution& TunedPlan::execution() const {
  if (!execution_) throw Error(ErrorKind::bug, fmt::format("the plan for {} was not prepared", problem_.text()));
  return *execution_;
}

std::shared_ptr<const Dispatcher> share_dispatcher(const Device& device, const KernelFamily& family,
                                                   const std::vector<Profile>& profiles) {
  return std::make_shared<const Dispatcher>(device.identity(), family, profiles);
}

}  // namespace heddle
