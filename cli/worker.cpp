// heddle worker: the process in which `heddle tune` and `heddle profiles verify` compile and measure. They start it.

#include "heddle/cli/command.hpp"
#include "heddle/tuner/worker/child_process.hpp"
#include "heddle/tuner/worker/serve.hpp"

namespace heddle::cli {

void add_worker(Command& program) {
  program.add_hidden("worker").action([&context = program.context()] {
    serve(ChildProcess::kDescriptor, {.families = context.families});
    return 0;
  });
}

}  // namespace heddle::cli
