#include "heddle/cli/reported.hpp"

#include <exception>
#include <new>
#include <string>

#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/stop.hpp"

namespace heddle::cli {
namespace {

/// After what was printed before.
int complain(int code, const std::string& line) {
  push_output();
  note(line);
  return code;
}

}  // namespace

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return {ErrorKind::device, "out of memory"};
  return {ErrorKind::bug, std::string("a bug: ") + exception.what()};
}

int reported(const std::function<int()>& command) {
  try {
    const int code = command();
    if (code == 0) flush_output();
    push_output();
    return code;
  } catch (const Interrupted& interrupted) {  // where there was nothing to keep yet
    return complain(exit_interrupted, interrupted.what());
  } catch (const std::exception& exception) {
    const Error error = as_error(exception);
    return complain(static_cast<int>(error.kind()), error.what());
  }
}

}  // namespace heddle::cli
