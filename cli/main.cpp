// The program `heddle`: reads the command line and runs one command.

#include "heddle/cli/command.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/reported.hpp"

int main(int count, char** values) {
  using namespace heddle::cli;
  prepare_streams();
  return reported([&] {
    const Context context;
    const Action action = parse({values + 1, values + count}, context);
    return action ? action() : 0;
  });
}
