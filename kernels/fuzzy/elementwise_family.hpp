// Families whose i-th number comes from the i-th number of every input: a formula, a series. What they share is the
// mapping: cuda/elementwise.cuh, and tiles of numbers on a CPU.
//
// Buffers of every plan: the inputs, then the output "result"; all have one shape. A plan for one sample is one launch,
// with these buffers and their ArrayForm as its arguments, and then arguments of the family's own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/array_family.hpp"

namespace heddle::fuzzy {

class ElementwiseFamily : public ArrayFamily {
 public:
  using ArrayFamily::ArrayFamily;

  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity& device) const override;
  [[nodiscard]] Problem awkward_problem() const override;
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override;
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity& device,
                                                    const Problem& problem) const override;
  [[nodiscard]] Kernels kernels(const Configuration& configuration, const Problem& problem,
                                const DeviceIdentity& device) const override;
  [[nodiscard]] Plan once(const Configuration& configuration, const Problem& problem,
                          const DeviceIdentity& device) const override;
  [[nodiscard]] HostImage contents(const Problem& problem, std::uint64_t seed, NumberKind kind) const override;
  [[nodiscard]] HostImage expected(const Problem& problem, const HostImage& contents) const override;
  [[nodiscard]] Work work(const Problem& problem) const override;

 protected:
  /// Names of the input buffers.
  [[nodiscard]] virtual const std::vector<std::string>& inputs() const = 0;
  /// Whether a thread may do some cuts of a number.
  [[nodiscard]] virtual bool works_cut_by_cut() const = 0;
  /// The cuts that a thread does in the untuned configuration on a GPU; 0: all of a number.
  [[nodiscard]] virtual std::int64_t untuned_slice(const Problem& problem) const = 0;
  /// The kernel for GPUs without its template arguments: the array, slice, vector, coarsening, threads of a block.
  [[nodiscard]] virtual std::string cuda_kernel() const = 0;
  /// The kernel for a CPU with its template arguments. `width`: floats in a vector.
  [[nodiscard]] virtual std::string cpu_kernel(const Configuration& configuration, const ArrayShape& shape,
                                               std::int64_t width) const = 0;
  /// Sizes of the family's own, for the problems that it names: {{"terms", 100}}.
  [[nodiscard]] virtual std::vector<Problem::Size> own_sizes(bool awkward) const = 0;
  [[nodiscard]] virtual std::vector<Argument> own_arguments(const Problem& problem) const = 0;
  /// Operations of any kind for one cut of one number.
  [[nodiscard]] virtual double operations(const Problem& problem) const = 0;
  /// The numbers of all arrays repeat after so many.
  [[nodiscard]] virtual std::int64_t period(const Problem&) const { return kPeriod; }
  /// The result by the number types.
  [[nodiscard]] virtual std::vector<std::byte> evaluated(
      const Problem& problem, const ArrayShape& shape, const std::vector<std::span<const std::byte>>& inputs) const = 0;
};

}  // namespace heddle::fuzzy
