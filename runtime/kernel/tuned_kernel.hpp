// A tuned kernel that a program calls:
//
//     TunedKernel<float, const float*, float*, std::int32_t> saxpy(device, family, known);
//     saxpy({n}, 2.0F, x, y, n);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/kernels/argument.hpp"
#include "heddle/runtime/kernel/callable_kernel.hpp"

namespace heddle {

/// Types that a kernel can take: pointers; integers of 32 and 64 bits, float, double; structs that are copied by their
/// bytes, of the same layout as in the kernel.
template <class T>
concept CallArgument = std::is_pointer_v<T> ||
                       (std::is_integral_v<T> && !std::is_same_v<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8)) ||
                       std::is_same_v<T, float> || std::is_same_v<T, double> ||
                       (std::is_class_v<T> && std::is_trivially_copyable_v<T>);

template <CallArgument T>
[[nodiscard]] CallType call_type() {
  const auto kind = [](const Argument& like) { return like.index(); };
  CallType type{.kind = 0, .read_only = false, .bytes = sizeof(T), .alignment = alignof(T)};
  if constexpr (std::is_pointer_v<T>) {
    type.kind = kind(BufferArgument());
    type.read_only = std::is_const_v<std::remove_pointer_t<T>>;
  } else if constexpr (std::is_integral_v<T>) {
    using Small = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
    using Large = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    type.kind = kind(std::conditional_t<sizeof(T) == 4, Small, Large>());
  } else if constexpr (std::is_class_v<T>) {
    type.kind = kind(StructArgument({}, 1));
  } else {
    type.kind = kind(T());
  }
  return type;
}

template <class T>
inline constexpr bool kIsSpan = false;
template <class T, std::size_t N>
inline constexpr bool kIsSpan<std::span<T, N>> = true;

/// A kernel of a family, called with arguments of the program's own. Every call chooses the configuration for its sizes
/// from the profiles, as the dispatcher does. May be called from several threads at once.
///
/// `Arguments`: a type for each parameter of the kernel function, in its order, then one for what goes to constant
/// memory alone. Pointers are those of the device: on a
/// GPU device memory in the context of the device, on the CPU and the emulator any memory of this process.
/// Memory::pointer() gives such an address on each of them. Memory is as large as the family's plan for these sizes
/// says.
///
/// A call at new sizes runs the family's default configuration, which it compiles if need be, and the chosen one as
/// soon as that has been compiled by a thread of this object; with TunedKernelOptions::wait it waits for the chosen
/// one. A choice that does not compile, load or launch, or of which the family cannot make a kernel at these sizes, is
/// replaced by the next candidate, with a notice. From then on a call at the same sizes takes no lock, allocates
/// nothing on a GPU, and returns as soon as the launch is submitted.
///
/// The thread that compiles starts when there is something to compile for the first time, and never with
/// TunedKernelOptions::wait. Like every thread it does not go along into the child of a fork(): make kernels in the
/// child.
///
/// Works on the device's own stream, or on that of on(). A program that has a context and a stream of CUDA gives them
/// to CudaDevice(context, stream).
///
/// A family can be called like this if
///
/// - the plan of every configuration is one launch of a kernel for one sample: no second launch, no routine, no buffers
///   in pieces. A configuration for which that does not hold counts as one that fails;
/// - all configurations give their kernels the same arguments, in number, order, types and meaning. Numbers that depend
///   on the configuration belong into the kernel's template arguments or definitions, since calls give all numbers;
/// - contents of constant memory that the kernel does not take as well come behind its arguments, as pointers, in the
///   order of the definition; each call copies them to the variable, on its stream. Calls on several streams that run
///   at the same time have to give the same contents;
/// - a buffer that the kernel writes is none of role `input`. Scratch buffers are arguments as well.
///
/// Families of kernel definitions (kernels/own/kernel_definition.hpp) are like that.
template <CallArgument... Arguments>
class TunedKernel {
 public:
  /// Device and family must outlive it. Throws Error(usage) if the family cannot be called like this, or takes other
  /// arguments.
  TunedKernel(Device& device, const KernelFamily& family, Knowledge known, TunedKernelOptions options = {})
      : kernel_(std::make_unique<CallableKernel>(
            device, family, std::move(known), std::vector<CallType>{call_type<Arguments>()...}, std::move(options))) {}

  /// `sizes`: a value for each axis of the family, in their order; std::nullopt for a size that the problem lacks.
  /// Throws Error(usage) for sizes that the family does not have, and the last DeviceFailure if no candidate can run.
  void operator()(std::initializer_list<AxisValue> sizes, Arguments... arguments) const {
    launch({sizes.begin(), sizes.size()}, std::nullopt, arguments...);
  }
  void operator()(const Problem& problem, Arguments... arguments) const {
    launch(sizes_of(problem), std::nullopt, arguments...);
  }

  /// The same on a stream of the caller's: kernel.on({stream})({n}, a, x, y, n).
  class OnStream {
   public:
    OnStream(const TunedKernel& kernel, Stream stream) : kernel_(kernel), stream_(stream) {}
    void operator()(std::initializer_list<AxisValue> sizes, Arguments... arguments) const {
      kernel_.launch({sizes.begin(), sizes.size()}, stream_, arguments...);
    }
    void operator()(const Problem& problem, Arguments... arguments) const {
      kernel_.launch(kernel_.sizes_of(problem), stream_, arguments...);
    }

   private:
    const TunedKernel& kernel_;
    Stream stream_;
  };
  [[nodiscard]] OnStream on(Stream stream) const { return {*this, stream}; }

  /// Waits until the configuration chosen for these sizes is ready, or has been replaced. Throws what a call throws.
  void prepare(std::initializer_list<AxisValue> sizes) const { kernel_->prepare({sizes.begin(), sizes.size()}); }
  void prepare(const Problem& problem) const { kernel_->prepare(sizes_of(problem)); }

  /// Which configuration runs at these sizes now, and why: a profile, one of other sizes, the default, a stale one;
  /// what is still being compiled; what failed. Throws Error(usage) for sizes that the family does not have.
  [[nodiscard]] KernelExplanation explain(std::initializer_list<AxisValue> sizes) const {
    return kernel_->explain({sizes.begin(), sizes.size()});
  }
  [[nodiscard]] KernelExplanation explain(const Problem& problem) const { return kernel_->explain(sizes_of(problem)); }

  /// Writes a call that is about to be made into `file`: the definition with its sources, the sizes, the numbers, and
  /// what the buffers hold that the kernel reads, as it is once everything on `stream` is done. `heddle tune --capture`
  /// tunes the kernel for that call on any machine; profiles that it finds are the ones that calls here choose.
  ///
  /// `given`: what a call takes. A std::span in place of a pointer says how long its memory is; otherwise the driver is
  /// asked. Nothing is launched.
  ///
  /// Throws Error(usage) if a length cannot be known (on the CPU and the emulator only a span says it) or is too small
  /// for these sizes, for buffers of more than kLargestCapture bytes, for a family that is made from no definition and
  /// for a stream that cannot be waited for; Error(input) if the file cannot be written; DeviceFailure.
  template <class... Given>
  void capture(const Problem& problem, Stream stream, const std::filesystem::path& file, const Given&... given) const {
    static_assert(sizeof...(Given) == sizeof...(Arguments), "a call takes another number of arguments");
    static_cast<void>(sizes_of(problem));
    std::tuple<Arguments...> passed(value_passed<Arguments>(given)...);
    const std::vector<std::optional<std::int64_t>> lengths{length_passed(given)...};
    std::apply(
        [&](auto&... arguments) {
          std::array<void*, sizeof...(Arguments) + 1> values{
              const_cast<void*>(static_cast<const void*>(&arguments))...};
          kernel_->capture(problem, stream, file, values.data(), lengths);
        },
        passed);
  }

 private:
  template <class Argument, class Given>
  static Argument value_passed(const Given& given) {
    if constexpr (kIsSpan<Given>) {
      return given.data();
    } else {
      return given;
    }
  }
  template <class Given>
  static std::optional<std::int64_t> length_passed(const Given& given) {
    if constexpr (kIsSpan<Given>) {
      return static_cast<std::int64_t>(given.size_bytes());
    } else {
      return std::nullopt;
    }
  }

  [[nodiscard]] std::vector<AxisValue> sizes_of(const Problem& problem) const {
    if (const auto why = misfit(problem, kernel_->family().axes())) throw Error(ErrorKind::usage, *why);
    return axis_values(problem, kernel_->family().axes());
  }
  void launch(Sizes sizes, std::optional<Stream> stream, Arguments... arguments) const {
    // One more, since there are no arrays of none.
    std::array<void*, sizeof...(Arguments) + 1> values{const_cast<void*>(static_cast<const void*>(&arguments))...};
    kernel_->launch(sizes, values.data(), stream);
  }

  std::unique_ptr<CallableKernel> kernel_;
};

}  // namespace heddle
