// The families "fuzzy-sort-lu" and "fuzzy-sort-mr": fuzzy numbers in the order of their keys. Each number has a key,
// say its ranking value (measures.hpp); keys and positions are sorted, and then each number moves once.
//
// Keys are reals of the type of the numbers' components. They are in rising order from -infinity to infinity; -0 and 0
// are equal, and what is no number comes last. Numbers with equal keys keep their order, so that there is one right
// result.
#pragma once

#include "heddle/kernels/fuzzy/array_family.hpp"

namespace heddle::fuzzy {

/// Axes: numbers, cuts, bits, layout. Buffers of every plan: inputs "keys" [numbers] and "numbers", outputs "sorted",
/// of the shape of "numbers", and "positions" [numbers], std::uint32_t: sorted number i was number positions[i].
/// A plan is several launches on a GPU.
[[nodiscard]] const KernelFamily& sort_family(Encoding encoding);

/// Of an array, less than this: counts of numbers share a word with two flags.
inline constexpr std::int64_t kMostSorted = (std::int64_t{1} << 30) - 1;

/// The part of the family that depends on the backend.
class SortMapping {
 public:
  virtual ~SortMapping() = default;
  [[nodiscard]] virtual const TemplateSource& source() const = 0;
  [[nodiscard]] virtual SearchSpace space(const DeviceIdentity& device, Encoding encoding) const = 0;
  [[nodiscard]] virtual Configuration default_configuration(const DeviceIdentity& device, Encoding encoding,
                                                            const ArrayShape& shape) const = 0;
  /// Adds scratch buffers, kernels and launches to a plan that has sort_buffers().
  virtual void add(Plan& plan, const Configuration& configuration, const ArrayShape& shape) const = 0;
};
[[nodiscard]] const SortMapping& cpu_sort_mapping();
[[nodiscard]] const SortMapping& cuda_sort_mapping();

/// The places of the buffers that every plan has.
enum SortBuffer : int { kSortKeys, kSortNumbers, kSorted, kSortPositions, kSortBuffers };

/// That there are at most kMostSorted numbers, and form_constraints().
[[nodiscard]] std::vector<Constraint> sort_constraints();

}  // namespace heddle::fuzzy
