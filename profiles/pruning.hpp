// Deleting what was measured with kernels that no longer matter. For the files of this folder only; inside
// StoreFile::in_transaction().
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/profiles/store_file.hpp"

namespace heddle {

/// Deletes the rows of `table`, measurements or profiles, that are `outdated`. Returns how many went.
std::int64_t delete_outdated(StoreFile& store, const char* table,
                             const std::function<bool(const std::string& family, const DeviceIdentity& device,
                                                      const KernelVersion& version)>& outdated);

/// Deletes the devices and provenances to which no row refers any more.
void delete_unreferenced(StoreFile& store);

}  // namespace heddle
