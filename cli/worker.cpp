// heddle worker: the process in which `heddle tune` and `heddle profiles verify` compile and measure. They start it.
// heddle compiler: a process in which NVRTC runs. A worker starts several.

#include "heddle/cli/command.hpp"
#include "heddle/runtime/process/child_process.hpp"
#include "heddle/tuner/worker/serve.hpp"

namespace heddle::cli {

void add_worker(Command& program) {
  program.add_hidden("worker").action([&context = program.context()] {
    serve(ChildProcess::kDescriptor, {.families = context.families, .compiler = own_compiler()});
    return 0;
  });
  program.add_hidden("compiler").action([] {
    run_compiler(ChildProcess::kDescriptor);
    return 0;
  });
}

}  // namespace heddle::cli
