#include "heddle/runtime/device/emulator/fibre.hpp"

#include <sys/mman.h>

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <cstring>
#include <new>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define HEDDLE_ADDRESS_SANITIZER 1
#endif

namespace heddle::emulator {
namespace {

namespace context = boost::context;

/// The stack belongs to the pool.
struct KeepStack {
  void deallocate(context::stack_context&) const noexcept {}
};

/// Tells the address sanitizer which stack comes next; nothing without it.
class StackSwitch {
 public:
#ifdef HEDDLE_ADDRESS_SANITIZER
  static void leave(void** mine, const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(mine, bottom, bytes);
  }
  static void arrive(void* mine, const void** bottom, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(mine, bottom, bytes);
  }
  static void fresh(const std::byte* stack, std::size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
#else
  static void leave(void**, const void*, std::size_t) {}
  static void arrive(void*, const void**, std::size_t*) {}
  static void fresh(const std::byte*, std::size_t) {}
#endif
};

}  // namespace

struct Fibre::Context {
  context::fiber inside, outside;
  void *inside_fake = nullptr, *outside_fake = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_bytes = 0;
};

Fibre::Fibre(std::byte* stack, std::size_t bytes)
    : stack_(stack), bytes_(bytes), context_(std::make_unique<Context>()) {
  StackSwitch::fresh(stack, bytes);
  context::stack_context where;
  where.size = bytes;
  where.sp = stack + bytes;
  context_->inside = context::fiber(std::allocator_arg, context::preallocated(where.sp, where.size, where), KeepStack{},
                                    [this](context::fiber&& outside) {
                                      context_->outside = std::move(outside);
                                      loop();
                                      return std::move(context_->outside);
                                    });
}

Fibre::~Fibre() {
  // A fiber's destructor would unwind the stack through code that expects no exceptions.
  for (context::fiber* fiber : {&context_->inside, &context_->outside}) {
    alignas(context::fiber) std::byte grave[sizeof(context::fiber)];
    new (grave) context::fiber(std::move(*fiber));
  }
}

void Fibre::start(Function function, void* argument) {
  function_ = function;
  argument_ = argument;
  ended_ = false;
}

bool Fibre::resume() {
  StackSwitch::leave(&context_->outside_fake, stack_, bytes_);
  context_->inside = std::move(context_->inside).resume();
  StackSwitch::arrive(context_->outside_fake, nullptr, nullptr);
  return ended_;
}

void Fibre::suspend() {
  StackSwitch::leave(&context_->inside_fake, context_->outside_bottom, context_->outside_bytes);
  context_->outside = std::move(context_->outside).resume();
  StackSwitch::arrive(context_->inside_fake, &context_->outside_bottom, &context_->outside_bytes);
}

void Fibre::loop() {
  StackSwitch::arrive(nullptr, &context_->outside_bottom, &context_->outside_bytes);
  while (true) {
    function_(argument_);
    ended_ = true;
    suspend();
  }
}

FibrePool::~FibrePool() {
  idle_.clear();
  for (std::byte* slab : slabs_) {
    StackSwitch::fresh(slab, kSlab * kStackBytes);  // or what is mapped here next would seem to be a stack
    ::munmap(slab, kSlab * kStackBytes);
  }
}

std::unique_ptr<Fibre> FibrePool::take() {
  if (!idle_.empty()) {
    auto fibre = std::move(idle_.back());
    idle_.pop_back();
    return fibre;
  }
  if (stacks_.empty()) {
    void* slab = ::mmap(nullptr, kSlab * kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) throw DeviceFailure(Status::launch, "emulator: no memory for the stacks of the threads");
    slabs_.push_back(static_cast<std::byte*>(slab));
    for (std::size_t i = 0; i < kSlab; ++i) stacks_.push_back(slabs_.back() + i * kStackBytes);
  }
  std::byte* stack = stacks_.back();
  stacks_.pop_back();
  return std::make_unique<Fibre>(stack, kStackBytes);
}

void FibrePool::give_back(std::unique_ptr<Fibre> fibre, bool idle) {
  if (idle) {
    idle_.push_back(std::move(fibre));
  } else {
    stacks_.push_back(fibre->stack());
  }
}

bool FibrePool::is_stack(const void* address) const noexcept {
  for (const std::byte* slab : slabs_) {
    if (static_cast<std::size_t>(static_cast<const std::byte*>(address) - slab) < kSlab * kStackBytes) return true;
  }
  return false;
}

}  // namespace heddle::emulator
