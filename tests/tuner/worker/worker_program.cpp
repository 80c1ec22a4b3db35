// The worker process of the tests: it knows their families beside heddle's own.
#include <stdexcept>

#include "heddle/tuner/worker/child_process.hpp"
#include "heddle/tuner/worker/serve.hpp"
#include "tuner/worker/faulty_family.hpp"

int main() {
  heddle::WorkerWorld world;
  world.find = [](const std::string& name) -> const heddle::KernelFamily& {
    return name == "faulty" ? heddle::test::faulty_family() : heddle::family(name);
  };
  return heddle::serve(heddle::ChildProcess::kDescriptor, world);
}
