// The program `heddle`: reads the command line, runs one command, turns errors into one line and an exit code.

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>

#include "heddle/cli/command.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/stop.hpp"

namespace {

/// One line whatever the text came from.
void complain(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  heddle::cli::note(text);
}

}  // namespace

int main(int count, char** values) {
  using namespace heddle;
  cli::ignore_closed_pipes();
  try {
    const cli::Action action = cli::parse({values + 1, values + count});
    const int code = action ? action() : 0;
    cli::flush_output();
    return code;
  } catch (const Interrupted& interrupted) {  // where there was nothing to keep yet
    complain(interrupted.what());
    return cli::exit_interrupted;
  } catch (const Error& error) {
    complain(error.what());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    return static_cast<int>(ErrorKind::device);
  } catch (const std::exception& error) {
    complain(fmt::format("a bug: {}", error.what()));
    return static_cast<int>(ErrorKind::bug);
  }
}
