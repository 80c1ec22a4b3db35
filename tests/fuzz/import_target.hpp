// What has to hold for the import of any bytes at all.
#pragma once

#include <string>
#include <vector>

namespace heddle::test {

/// Imports `bytes` into a database that has profiles. Ends the program with a message if something goes in by halves,
/// is refused with anything but one line, or is taken though the family's space does not have it. Returns whether it
/// was taken.
bool import_once(const std::string& bytes);

/// Documents as an export writes them: the beginning of all damage.
[[nodiscard]] const std::vector<std::string>& good_documents();

}  // namespace heddle::test
