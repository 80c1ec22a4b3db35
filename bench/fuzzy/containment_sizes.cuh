// What the host and the kernels of containment.cuh agree on.
#pragma once

namespace heddle::bench {

enum Operation : int {
  kSum,
  kDifference,
  kProduct,
  kQuotient,
  kProductAndSum,
  kRoot,
  kExponential,
  kLogarithm,
  kSquare,
  kSmaller,
  kLarger,
  kNegation,
  kCube,
  kInverseSquare,
  kConversion,  ///< to the other encoding and back
  kFusedSum,    ///< a product added with a single rounding, as sums and matrices do
  kSeriesStep,
  kOperations
};

/// Of one operation.
struct ContainmentCount {
  unsigned long long checked;      ///< samples of which something could be said
  unsigned long long wrong;        ///< with a point that a cut leaves out
  unsigned long long first_wrong;  ///< sample; the largest number if there is none
};

}  // namespace heddle::bench
