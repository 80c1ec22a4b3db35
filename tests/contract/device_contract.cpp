#include "contract/device_contract.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/contract_limits.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {

using contract::kSamples;

namespace {

/// "scheme=graph": the first parameter of a configuration, which says most about the code that it runs.
std::string scheme_of(const Configuration& configuration) {
  const std::string text = configuration.text();
  return text.substr(0, text.find(' '));
}

/// A verifier for each family, which finds the kernels that were compiled already.
class Verifiers {
 public:
  Verifiers(Device& device, std::uint64_t seed) : device_(device), seed_(seed) {}

  Verifier& of(const KernelFamily& family, const Kernels& kernels, std::shared_ptr<const Binary> binary) {
    Entry& entry = entries_[family.name()];
    entry.binaries[kernels] = std::move(binary);
    if (!entry.verifier) {
      const auto find = [this, &family, &entry](const Kernels& wanted) {
        std::shared_ptr<const Binary>& found = entry.binaries[wanted];
        if (!found) found = compile_one(device_, {&family.source(device_.identity().backend), wanted}).binary;
        return found;
      };
      entry.verifier = std::make_unique<Verifier>(device_, family, seed_, find);
    }
    return *entry.verifier;
  }

 private:
  struct Entry {
    std::map<Kernels, std::shared_ptr<const Binary>> binaries;
    std::unique_ptr<Verifier> verifier;
  };
  Device& device_;
  std::uint64_t seed_;
  std::map<std::string_view, Entry> entries_;
};

void check_memory(Device& device) {
  const auto memory = device.allocate(1003);
  CHECK(memory->bytes() >= 1003);
  memory->fill(std::byte{0xa5});
  const std::vector<std::byte> written{std::byte{1}, std::byte{2}, std::byte{3}};
  memory->write(written, 1000);
  std::vector<std::byte> read(1003);
  memory->read(read);
  CHECK(std::count(read.begin(), read.begin() + 1000, std::byte{0xa5}) == 1000);
  CHECK(std::equal(written.begin(), written.end(), read.begin() + 1000));
  std::vector<std::byte> end(1);
  memory->read(end, 1002);
  CHECK(end.front() == std::byte{3});

  const auto other = device.allocate(memory->bytes());
  other->copy(*memory);
  CHECK(device.same(*memory, *other));
  other->write(written, 999);
  CHECK_FALSE(device.same(*memory, *other));
  CHECK_FALSE(device.same(*memory, *device.allocate(memory->bytes() + 1)));
}

/// Memory of the caller's, larger than the plan asks for, in place of a buffer: what comes out is the same.
void check_bindings(Device& device, const KernelFamily& family) {
  const Problem problem = family.awkward_problem();
  const Configuration configuration = family.default_configuration(device.identity(), problem);
  const Trial trial = family.trial(configuration, problem, device.identity(), kSamples, 7);
  const auto compiled = compile_one(device, {&family.source(device.identity().backend), trial.plan.kernels});
  Bindings bindings;
  for (const Buffer& buffer : trial.plan.buffers)
    if (buffer.role == Role::input) bindings[buffer.name] = device.allocate(buffer.bytes + 1024);
  const auto execution = device.prepare(trial.plan, compiled.binary, bindings);
  for (const auto& [name, memory] : bindings) CHECK(&execution->memory(name) == memory.get());
  const auto own = device.prepare(trial.plan, compiled.binary);
  const HostImage bound = outcome_of(*execution, *trial.initial, 1);
  CHECK(bound == outcome_of(*own, *trial.initial, 1));
}

void check_bad_instantiation(Device& device, const KernelFamily& family) {
  const Kernels unknown{"heddle::there_is_no_such_kernel<1>"};
  try {
    static_cast<void>(compile_one(device, {&family.source(device.identity().backend), unknown}));
    FAIL_CHECK("compiled what does not exist");
  } catch (const DeviceFailure& failure) {
    CHECK(failure.status() == Status::compilation);
    CHECK(std::string(failure.what()).find('\n') == std::string::npos);
  }
}

/// Whether the blocks of several clusters have to run at once.
bool wants_clusters(const ContractCase& what, const Device& device) {
  const Plan plan = what.family->plan(what.configuration, what.problem, device.identity(), kSamples);
  return std::any_of(plan.launches.begin(), plan.launches.end(),
                     [](const Launch& launch) { return launch.resident && launch.cluster > 1; });
}

}  // namespace

HostImage outcome_of_default(Device& device, const KernelFamily& family, std::uint64_t seed) {
  const Problem problem = family.awkward_problem();
  return outcome_of_configuration(device, family, problem, family.default_configuration(device.identity(), problem),
                                  seed);
}

HostImage outcome_of_configuration(Device& device, const KernelFamily& family, const Problem& problem,
                                   const Configuration& configuration, std::uint64_t seed) {
  const Trial trial = family.trial(configuration, problem, device.identity(), kSamples, seed);
  const auto compiled = compile_one(device, {&family.source(device.identity().backend), trial.plan.kernels});
  return outcome_of(*device.prepare(trial.plan, compiled.binary), *trial.initial, 1);
}

ContractResult try_configurations(Device& device, const ContractSample& sample) {
  const std::vector<ContractCase> all = contract_cases(device.identity(), sample);
  std::vector<CompileRequest> requests;
  requests.reserve(all.size());
  for (const ContractCase& what : all)
    requests.push_back({&what.family->source(device.identity().backend),
                        what.family->kernels(what.configuration, what.problem, device.identity())});
  Verifiers verifiers(device, sample.seed);
  const auto batch = device.compile(requests);
  ContractResult result;
  result.drawn = all.size();
  std::set<std::string> schemes;
  while (auto done = batch->next()) {
    const ContractCase& what = all[done->first];
    const std::string family(what.family->name());
    const auto complain = [&](const std::string& about) {
      result.complaints.push_back(
          fmt::format("{}, {}: {}: {}", family, what.problem.text(), what.configuration.text(), about));
    };
    if (!done->second.binary) {
      complain(done->second.log);
      continue;
    }
    ++result.tried[family];
    Verifier& verifier = verifiers.of(*what.family, requests[done->first].kernels, std::move(done->second.binary));
    const auto judge = [&](const Verdict& verdict) {
      if (verdict.status == Status::launch && wants_clusters(what, device)) {
        ++result.without_room[family];
        return verdict.status;
      }
      if (verdict.status != Status::correct) complain(std::string(text(verdict.status)) + ": " + verdict.message);
      return verdict.status;
    };
    // In turn, so that every option set comes to every scheme; and where a scheme is drawn once, more than one.
    const auto run = [&](std::size_t check) {
      return judge(verifier.verify_run(what.configuration, what.problem, check, sample.repeat));
    };
    Status status = Status::correct;
    if (schemes.insert(family + ' ' + scheme_of(what.configuration)).second) {
      const auto verification = what.family->verification(device.identity(), sample.seed, {});
      const std::size_t essential = verification->runs(what.configuration, what.problem).essential;
      for (std::size_t i = 0; i < essential && status == Status::correct; ++i) status = run(i);
    } else {
      status = run(done->first);
    }
    if (status == Status::illegal_access) return result;
    if (sample.thorough) judge(verifier.verify(what.configuration, what.problem));
  }
  return result;
}

void run_device_contract(Device& device, const ContractSample& sample) {
  check_memory(device);
  for (const auto& family : sample.families) {
    if (!family->supports(device.identity().backend)) continue;
    INFO(device.label() << ": " << family->name());
    check_bindings(device, *family);
    check_bad_instantiation(device, *family);
  }

  const ContractResult result = try_configurations(device, sample);
  for (const std::string& complaint : result.complaints) FAIL_CHECK(device.label() << ": " << complaint);
  std::size_t tried = 0;
  for (const auto& family : sample.families) {
    if (!family->supports(device.identity().backend)) continue;
    INFO(device.label() << ": " << family->name());
    const auto own = result.tried.find(family->name());
    REQUIRE(own != result.tried.end());
    tried += own->second;
    const auto without = result.without_room.find(family->name());
    CHECK((without == result.without_room.end() || without->second * 10 <= own->second));
  }
  MESSAGE(device.label() << " (" << device.identity().name << "): " << tried << " of " << result.drawn
                         << " configurations tried");
  CHECK(tried == result.drawn);
  CHECK(tried >= sample.least);
}

}  // namespace heddle
