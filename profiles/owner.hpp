// Which process works at something that is written down in a file.
#pragma once

#include <string>

namespace heddle {

/// Host, process and the time it started at: no two processes have the same.
[[nodiscard]] std::string this_process();
/// Whether the process that this_process() named may still be at work: it runs here, or it is of another host, of which
/// nothing is known.
[[nodiscard]] bool may_be_running(const std::string& process);

}  // namespace heddle
