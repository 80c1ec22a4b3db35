// One cut of the numbers of an array whose form is known only when a program runs. Cuts of a sum do not depend on each
// other, so that code for a single cut serves any number of them. For host and CPU kernels; compiled at run time too.
#pragma once

#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy {

/// Where a cut of an array lies: storage.hpp says why.
struct CutView {
  long long number_step, component_step;
  int cut;

  [[nodiscard]] HEDDLE_EITHER long long place(long long i, int component) const {
    return i * number_step + component * component_step;
  }
};

/// Of an array of n numbers of so many components.
HEDDLE_EITHER CutView cut_view(int layout, long long n, int components, int cut) {
  return layout == kNumbers ? CutView{components, 1, cut} : CutView{1, n, cut};
}

/// Components of a number of so many cuts.
template <class T>
HEDDLE_EITHER int components_of(const LowerUpper<T, 1>&, int cuts) {
  return 2 * cuts;
}
template <class T>
HEDDLE_EITHER int components_of(const MidpointRadius<T, 1>&, int cuts) {
  return 1 + cuts;
}

template <class T>
HEDDLE_EITHER void load_cut(const T* array, const CutView& view, long long i, LowerUpper<T, 1>& number) {
  number.lower[0] = array[view.place(i, 2 * view.cut)];
  number.upper[0] = array[view.place(i, 2 * view.cut + 1)];
}
template <class T>
HEDDLE_EITHER void load_cut(const T* array, const CutView& view, long long i, MidpointRadius<T, 1>& number) {
  number.midpoint = array[view.place(i, 0)];
  number.radius[0] = array[view.place(i, 1 + view.cut)];
}

template <class T>
HEDDLE_EITHER void store_cut(T* array, const CutView& view, long long i, const LowerUpper<T, 1>& number) {
  array[view.place(i, 2 * view.cut)] = number.lower[0];
  array[view.place(i, 2 * view.cut + 1)] = number.upper[0];
}
/// The first cut also writes the midpoint.
template <class T>
HEDDLE_EITHER void store_cut(T* array, const CutView& view, long long i, const MidpointRadius<T, 1>& number) {
  if (view.cut == 0) array[view.place(i, 0)] = number.midpoint;
  array[view.place(i, 1 + view.cut)] = number.radius[0];
}

}  // namespace heddle::fuzzy
