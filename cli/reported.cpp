#include "heddle/cli/reported.hpp"

#include <exception>
#include <new>
#include <string>

#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"
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

int reported(const std::function<int()>& command) {
  try {
    const int code = command();
    if (code == 0) flush_output();
    push_output();
    return code;
  } catch (const Interrupted& interrupted) {  // where there was nothing to keep yet
    return complain(exit_interrupted, interrupted.what());
  } catch (const Error& error) {
    return complain(static_cast<int>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return complain(static_cast<int>(ErrorKind::device), "out of memory");
  } catch (const std::exception& error) {
    return complain(static_cast<int>(ErrorKind::bug), std::string("a bug: ") + error.what());
  }
}

}  // namespace heddle::cli
