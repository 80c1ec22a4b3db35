#include "heddle/cli/reported.hpp"

#include <exception>
#include <new>
#include <string>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"

namespace heddle::cli {
namespace {

/// After what was printed before.
int complain(ErrorKind kind, const std::string& line) {
  push_output();
  note(line);
  return static_cast<int>(kind);
}

}  // namespace

int reported(const std::function<int()>& command) {
  try {
    const int code = command();
    if (code == 0) flush_output();
    push_output();
    return code;
  } catch (const Error& error) {
    return complain(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return complain(ErrorKind::device, "out of memory");
  } catch (const std::exception& error) {
    return complain(ErrorKind::bug, std::string("a bug: ") + error.what());
  }
}

}  // namespace heddle::cli
