// One profile as a JSON object, and back with everything checked. For the files of this folder only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// With its checksum: the digest of the object's compact text without the member "checksum". Profile::record itself if
/// there is one.
[[nodiscard]] nlohmann::json to_record(const Profile& profile);

struct Arrival {
  Profile profile;      ///< marked as imported
  std::string refusal;  ///< why it is of no use here, though whole, in one line; then only key and configuration count
};
/// The profile in `record`. It is refused if its problem has other sizes than its family has in this heddle: another
/// version wrote it. Throws Error(input) with what was found and what was expected: a wrong
/// checksum, a missing member, a wrong type, a number out of its range, a text too long, or a family, device, problem
/// or configuration that does not fit together.
///
/// A record of a family that is not in `families` is kept as it is (Profile::record), up to 1 MiB of printable text;
/// beyond its form, nothing in it is looked at.
[[nodiscard]] Arrival from_record(const nlohmann::json& record, const FamilyRegistry& families);

}  // namespace heddle
