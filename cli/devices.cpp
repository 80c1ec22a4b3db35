// heddle devices: what can run here, and why the rest cannot.

#include <fmt/format.h>

#include <memory>

#include "heddle/cli/command.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::cli {
namespace {

std::string size(std::int64_t bytes) {
  if (bytes == 0) return "-";
  constexpr std::int64_t kib = 1024, mib = 1024 * kib;
  return bytes >= mib ? fmt::format("{} MiB", bytes / mib) : fmt::format("{} KiB", bytes / kib);
}

Json document(const std::vector<DeviceListing>& listings) {
  Json devices = Json::array();
  for (const DeviceListing& listing : listings) {
    devices.push_back({{"label", listing.label},
                       {"usable", listing.identity.has_value()},
                       {"identity", listing.identity ? to_json(*listing.identity) : Json()},
                       {"remark", listing.remark}});
  }
  return {{"devices", devices}};
}

void print_table(const std::vector<DeviceListing>& listings) {
  using enum Table::Align;
  Table table({{"device"}, {"name"}, {"architecture"}, {"units", right}, {"memory", right}, {"cache", right}});
  for (const DeviceListing& listing : listings) {
    if (!listing.identity) continue;
    const DeviceIdentity& identity = *listing.identity;
    table.row({listing.label, identity.name, identity.architecture, fmt::format("{}", identity.units),
               identity.memory_gib > 0 ? fmt::format("{} GiB", identity.memory_gib) : "-", size(identity.cache_bytes)});
  }
  print(table.text());
  for (const DeviceListing& listing : listings) {
    if (!listing.remark.empty()) print(fmt::format("{}: {}\n", listing.label, listing.remark));
  }
}

int run(const Common& common) {
  const std::vector<DeviceListing> listings = list_devices();
  if (common.json) {
    print_document("devices", document(listings));
  } else {
    print_table(listings);
  }
  return 0;
}

}  // namespace

void add_devices(Command& program) {
  Command command = program.add("devices", "What can run here, the best first, and why the rest cannot");
  const auto common = std::make_shared<Common>();
  add_common(command, *common);
  command.action([common] { return run(*common); });
}

}  // namespace heddle::cli
