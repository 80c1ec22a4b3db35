#include "heddle/runtime/device/cuda/nvml.hpp"

#include <fmt/format.h>

#include <array>

namespace heddle {
namespace {

// From nvml.h, which is not installed with every toolkit; the library keeps these stable. Results: 0 is success.
using Plain = int();
using VersionOf = int(char*, unsigned);
using CardOf = int(const char*, void**);
using EnergyOf = int(void*, unsigned long long*);
using ClockOf = int(void*, int, unsigned*);
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;

}  // namespace

Nvml::Nvml(const std::string& bus) : library_("libnvidia-ml.so.1") {
  Plain* initialise = nullptr;
  CardOf* card_of = nullptr;
  initialised_ = library_.find("nvmlInit_v2", initialise) && initialise() == 0;
  if (initialised_ && library_.find("nvmlDeviceGetHandleByPciBusId_v2", card_of) && card_of(bus.c_str(), &card_) != 0)
    card_ = nullptr;
}

Nvml::~Nvml() {
  Plain* shut_down = nullptr;
  if (initialised_ && library_.find("nvmlShutdown", shut_down)) shut_down();
}

std::string Nvml::driver_version() const {
  VersionOf* version_of = nullptr;
  std::array<char, 96> text{};
  if (!initialised_ || !library_.find("nvmlSystemGetDriverVersion", version_of)) return {};
  return version_of(text.data(), text.size() - 1) == 0 ? text.data() : std::string();
}

std::string Nvml::clocks() const {
  ClockOf* clock_of = nullptr;
  unsigned sm = 0, memory = 0;
  if (card_ == nullptr || !library_.find("nvmlDeviceGetClockInfo", clock_of)) return {};
  if (clock_of(card_, kSmClock, &sm) != 0 || clock_of(card_, kMemoryClock, &memory) != 0) return {};
  return fmt::format("SM {} MHz, memory {} MHz", sm, memory);
}

std::optional<double> Nvml::joules() const {
  constexpr double kMillijoule = 1e-3;
  EnergyOf* energy_of = nullptr;
  unsigned long long counter = 0;
  if (card_ == nullptr || !library_.find("nvmlDeviceGetTotalEnergyConsumption", energy_of)) return {};
  if (energy_of(card_, &counter) != 0) return {};
  return kMillijoule * static_cast<double>(counter);
}

}  // namespace heddle
