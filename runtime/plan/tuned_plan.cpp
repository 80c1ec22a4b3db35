#include "heddle/runtime/plan/tuned_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "heddle/runtime/dispatch/notices.hpp"
#include "heddle/runtime/dispatch/spilling.hpp"

namespace heddle {

TunedPlan::TunedPlan(Device& device, std::shared_ptr<const Dispatcher> dispatcher, const Problem& problem,
                     Notice notice)
    : device_(&device), dispatcher_(std::move(dispatcher)), notice_(std::move(notice)), row_(*dispatcher_, problem) {}

std::vector<TunedPlan> TunedPlan::choose(Device& device, const std::shared_ptr<const Dispatcher>& dispatcher,
                                         const std::vector<Problem>& problems, const Notice& notice, const Stop& stop) {
  std::vector<TunedPlan> plans;
  plans.reserve(problems.size());
  for (const Problem& problem : problems) plans.push_back(TunedPlan(device, dispatcher, problem, notice));
  const std::string_view family = dispatcher->family().name();
  const auto is_stale = [](const TunedPlan& plan) { return plan.candidate().tier == Tier::stale; };
  if (const auto stale = std::ranges::find_if(plans, is_stale); notice && stale != plans.end()) {
    const auto count = std::ranges::count_if(plans, is_stale);
    notice(stale_line(family, fmt::format("the profiles for {} of {} sizes are", count, plans.size()),
                      stale->candidate().currency));
  }
  if (const auto& left_out = dispatcher->left_out(); notice && !left_out.empty()) {
    notice(left_out_line(family, left_out.front().reason, left_out.size()));
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
      wanted[family.kernels(plan.configuration(), plan.problem(), plan.device_->identity())].push_back(&plan);
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
    for (const auto& [kernels, waiting] : wanted) {
      for (TunedPlan* const plan : waiting) {
        if (plan->binary_) plan->pass_over_if_spilling(stop);
      }
    }
  }
}

void TunedPlan::replace(const DeviceFailure& failure) {
  const auto line = row_.fail(failure.what());
  if (!line) throw DeviceFailure(failure);
  if (notice_) notice_(*line);
  binary_ = nullptr;
}

void TunedPlan::pass_over_if_spilling(const Stop& stop) {
  const auto why = spilling(*dispatcher_, candidate(), problem(), *device_, *binary_, stop);
  if (!why) return;
  const std::string line = row_.pass_over(*why);
  if (notice_) notice_(line);
  binary_ = nullptr;
}

Execution& TunedPlan::prepare(const Use& use) {
  for (;;) {
    try {
      Plan plan = dispatcher_->family().plan(configuration(), problem(), device_->identity(), use.samples);
      Bindings bindings = use.bind ? use.bind(*this, plan) : Bindings();
      auto execution = device_->prepare(std::move(plan), binary_, std::move(bindings));
      if (use.probe) use.probe(*this, *execution);
      execution_ = std::move(execution);
      return *execution_;
    } catch (const DeviceFailure& failure) {
      // Where memory is short, another candidate may need less.
      if (takes_device_down(failure.status()) && failure.status() != Status::out_of_memory) throw;
      replace(failure);
      compile(std::span(this, 1), {});  // something has been learnt that shall not be lost
    }
  }
}

Execution& TunedPlan::execution() const {
  if (!execution_) throw Error(ErrorKind::bug, fmt::format("the plan for {} was not prepared", problem().text()));
  return *execution_;
}

std::shared_ptr<const Dispatcher> share_dispatcher(const Device& device, const KernelFamily& family,
                                                   const Knowledge& known) {
  return std::make_shared<const Dispatcher>(device.identity(), family, known);
}

}  // namespace heddle
