// Where the reals of a program's own array lie, for host and device code alike. Compiled at run time too.
#pragma once

namespace heddle::fuzzy {

/// Rows and columns, each at its own distance. Strides in bytes, of any sign.
struct GivenTable {
  long long start;  ///< of row 0, column 0: bytes behind the lowest address
  long long rows, columns;
  long long row_stride, column_stride;
};

}  // namespace heddle::fuzzy
