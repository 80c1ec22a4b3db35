// The program `heddle`: reads the command line and runs one command.

#include <cstdlib>

#include "heddle/cli/command.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/reported.hpp"

int main(int count, char** values) {
  using namespace heddle::cli;
  prepare_streams();
  const int code = reported([&] {
    const Context context;
    const Action action = parse({values + 1, values + count}, context);
    return action ? action() : 0;
  });
  // All is written. Under a limit on memory OpenBLAS may have a thread that tries for ever to allocate its buffer, and
  // at an ordinary exit the library waits for that thread.
  std::quick_exit(code);
}
