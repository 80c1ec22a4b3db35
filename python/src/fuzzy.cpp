// heddle.fuzzy: arrays of fuzzy numbers on a device. The Python file of the package turns NumPy arrays into their
// components, and back; here they are bytes. Arrays that the device has already are taken here.
#include "fuzzy.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explanation.hpp"
#include "fuzzy_array.hpp"
#include "fuzzy_view.hpp"
#include "given_array.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/formula.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"
#include "heddle/runtime/fuzzy/sort_keys.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

/// Numbers in the host's memory, one after the other.
using Bytes = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu, nb::ndim<1>>;

std::span<const std::byte> bytes_of(const Bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.nbytes()};
}
template <class T>
std::span<const T> reals_of(const Bytes& data) {
  return {static_cast<const T*>(data.data()), data.size()};
}
nb::bytes to_bytes(const std::vector<std::byte>& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

class FuzzyCalculator {
 public:
  FuzzyCalculator(const std::string& device, const std::string& profiles) {
    const nb::gil_scoped_release released;
    desk_ = std::shared_ptr<Desk>(new Desk(device, profiles), DeleteAtHome());
  }

  [[nodiscard]] std::string device() const { return desk_->device->label(); }

  FuzzyArray array(const Bytes& components, const std::string& encoding, std::int64_t numbers, std::int64_t cuts,
                   std::int64_t bits) {
    const fuzzy::ArrayShape shape{.encoding = fuzzy::encoding_of(encoding),
                                  .numbers = numbers,
                                  .cuts = cuts,
                                  .bits = bits,
                                  .layout = fuzzy::kNumbers};
    return make([&](fuzzy::Calculator& on) { return on.array(shape, bytes_of(components)); });
  }
  [[nodiscard]] GivenArray given(nb::object array, const std::string& what) const { return {array, what, *desk_}; }
  FuzzyArray array_from(const std::string& encoding, const GivenArray& first, const GivenArray& second) {
    return make([&](fuzzy::Calculator& on) {
      return on.array(fuzzy::encoding_of(encoding), first.numbers(), second.numbers());
    });
  }
  /// The numbers of an array, row after row, on the host.
  nb::bytes read(const GivenArray& given) {
    return to_bytes(desk_->use([&] {
      std::vector<std::byte> bytes(static_cast<std::size_t>(given.numbers().bytes()));
      desk_->calculator.copy(given.numbers())->read(bytes);
      return bytes;
    }));
  }
  FuzzyArray evaluate(const std::string& formula, const std::map<std::string, const FuzzyArray*>& inputs) {
    std::map<std::string, fuzzy::Array, std::less<>> arrays;
    for (const auto& [name, input] : inputs) arrays.emplace(name, own(*input));
    return make([&](fuzzy::Calculator& on) { return on.map(formula, arrays); });
  }
  FuzzyArray sum(const FuzzyArray& x) {
    return make([&](fuzzy::Calculator& on) { return on.sum(own(x)); });
  }
  FuzzyArray dot(const FuzzyArray& x, const FuzzyArray& y) {
    return make([&](fuzzy::Calculator& on) { return on.dot(own(x), own(y)); });
  }
  FuzzyArray product(const Bytes& matrix, std::int64_t rows, std::int64_t columns, const FuzzyArray& x) {
    return make([&](fuzzy::Calculator& on) {
      return on.product(matrix.itemsize() == sizeof(float) ? on.matrix(rows, columns, reals_of<float>(matrix))
                                                           : on.matrix(rows, columns, reals_of<double>(matrix)),
                        own(x));
    });
  }
  FuzzyArray product_from(const GivenArray& matrix, const FuzzyArray& x) {
    return make([&](fuzzy::Calculator& on) { return on.product(on.matrix(matrix.numbers()), own(x)); });
  }
  FuzzyArray fuzzy_product(const FuzzyArray& matrix, const FuzzyArray& x) {
    return make([&](fuzzy::Calculator& on) { return on.product(own(matrix), own(x)); });
  }
  /// The sorted numbers, and std::uint32_t positions.
  std::pair<FuzzyArray, nb::bytes> sort(const FuzzyArray& x, const Bytes& keys) {
    return sorted([&](fuzzy::Calculator& on) {
      return keys.itemsize() == sizeof(float) ? on.sort(own(x), reals_of<float>(keys))
                                              : on.sort(own(x), reals_of<double>(keys));
    });
  }
  std::pair<FuzzyArray, nb::bytes> sort_from(const FuzzyArray& x, const GivenArray& keys) {
    return sorted([&](fuzzy::Calculator& on) { return on.sort(own(x), keys.numbers()); });
  }

  nb::dict explain(const std::string& formula, const FuzzyArray& like) {
    const KernelExplanation found =
        desk_->use([&] { return desk_->calculator.explain_map(fuzzy::Formula(formula), own(like).shape()); });
    return to_dict(found);
  }
  void forget_choices() {
    desk_->use([&] { desk_->calculator.forget_choices(); });
  }

 private:
  /// An array of this calculator's, in this process.
  const fuzzy::Array& own(const FuzzyArray& array) const {
    if (array.desk() != desk_) {
      throw Error(ErrorKind::usage, "fuzzy arrays: found arrays of two calculators, expected those of one");
    }
    return array.array();
  }
  template <class Compute>
  FuzzyArray make(const Compute& compute) {
    return {desk_, desk_->use([&] { return compute(desk_->calculator); })};
  }
  template <class Sort>
  std::pair<FuzzyArray, nb::bytes> sorted(const Sort& sort) {
    fuzzy::Sorted found = desk_->use([&] { return sort(desk_->calculator); });
    return {FuzzyArray(desk_, std::move(found.numbers)),
            nb::bytes(found.positions.data(), found.positions.size() * sizeof(std::uint32_t))};
  }

  std::shared_ptr<Desk> desk_;
};

std::vector<std::byte> components_of(const FuzzyArray& array) {
  return array.desk()->use([&] { return array.array().components(); });
}

template <class T>
std::vector<T> measured(const FuzzyArray& array, const std::string& measure, const std::vector<double>& levels) {
  const auto by = fuzzy::measure_of(measure);
  if (!by) {
    throw Error(ErrorKind::usage, fmt::format("measure: found '{}', expected 'centroid', 'mean-of-maxima' or "
                                              "'ranking-value'",
                                              measure));
  }
  const std::vector<std::byte> components = components_of(array);
  const fuzzy::ArrayShape& shape = array.array().shape();
  fuzzy::Numbers<T> numbers{.encoding = shape.encoding, .cuts = static_cast<int>(shape.cuts), .values = {}};
  numbers.values.resize(components.size() / sizeof(T));
  std::copy(components.begin(), components.end(), std::as_writable_bytes(std::span(numbers.values)).begin());
  return fuzzy::measure_all(numbers, levels, *by);
}

nb::bytes measure(const FuzzyArray& array, const std::string& by, const Bytes& levels) {
  const std::span<const double> own = reals_of<double>(levels);
  const std::vector<double> level(own.begin(), own.end());
  if (!level.empty() && static_cast<std::int64_t>(level.size()) != array.array().shape().cuts) {
    throw Error(ErrorKind::usage, fmt::format("levels: found {}, expected one for each of {} cuts", level.size(),
                                              array.array().shape().cuts));
  }
  const auto bytes = [](const auto& values) { return nb::bytes(values.data(), values.size() * sizeof(values[0])); };
  return array.array().shape().is_double() ? bytes(measured<double>(array, by, level))
                                           : bytes(measured<float>(array, by, level));
}

}  // namespace

void bind_fuzzy(nb::module_& module) {
  nb::class_<FuzzyArray>(module, "FuzzyArray")
      .def_prop_ro("size", [](const FuzzyArray& array) { return array.array().size(); })
      .def_prop_ro("cuts", [](const FuzzyArray& array) { return array.array().shape().cuts; })
      .def_prop_ro("bits", [](const FuzzyArray& array) { return array.array().shape().bits; })
      .def_prop_ro("encoding",
                   [](const FuzzyArray& array) { return std::string(fuzzy::suffix(array.array().shape().encoding)); })
      .def(
          "view", [](const FuzzyArray& array, const std::string& part) { return FuzzyView(array, part); },
          nb::arg("part"))
      .def("components", [](const FuzzyArray& array) { return to_bytes(components_of(array)); })
      .def("measure", &measure, nb::arg("by"), nb::arg("levels"));
  nb::class_<FuzzyView>(module, "FuzzyView")
      .def_prop_ro("shape", &FuzzyView::shape)
      .def_prop_ro("bits", &FuzzyView::bits)
      .def_prop_ro("device", &FuzzyView::device)
      .def("interface", &FuzzyView::interface)
      .def("capsule", &FuzzyView::capsule);
  nb::class_<GivenArray>(module, "GivenArray")
      .def_prop_ro("shape", &GivenArray::shape)
      .def("column", &GivenArray::column)
      .def_prop_ro("dtype", &GivenArray::type);
  nb::class_<FuzzyCalculator>(module, "FuzzyCalculator")
      .def(nb::init<const std::string&, const std::string&>(), nb::arg("device") = "", nb::arg("profiles") = "")
      .def_prop_ro("device", &FuzzyCalculator::device)
      .def("array", &FuzzyCalculator::array, nb::arg("components"), nb::arg("encoding"), nb::arg("numbers"),
           nb::arg("cuts"), nb::arg("bits"))
      .def("given", &FuzzyCalculator::given, nb::arg("array"), nb::arg("what"))
      .def("array_from", &FuzzyCalculator::array_from, nb::arg("encoding"), nb::arg("first"), nb::arg("second"))
      .def("read", &FuzzyCalculator::read, nb::arg("given"))
      .def("evaluate", &FuzzyCalculator::evaluate, nb::arg("formula"), nb::arg("inputs"))
      .def("sum", &FuzzyCalculator::sum, nb::arg("x"))
      .def("dot", &FuzzyCalculator::dot, nb::arg("x"), nb::arg("y"))
      .def("product", &FuzzyCalculator::product, nb::arg("matrix"), nb::arg("rows"), nb::arg("columns"), nb::arg("x"))
      .def("product_from", &FuzzyCalculator::product_from, nb::arg("matrix"), nb::arg("x"))
      .def("fuzzy_product", &FuzzyCalculator::fuzzy_product, nb::arg("matrix"), nb::arg("x"))
      .def("sort", &FuzzyCalculator::sort, nb::arg("x"), nb::arg("keys"))
      .def("sort_from", &FuzzyCalculator::sort_from, nb::arg("x"), nb::arg("keys"))
      .def("explain", &FuzzyCalculator::explain, nb::arg("formula"), nb::arg("like"))
      .def("forget_choices", &FuzzyCalculator::forget_choices);
}

}  // namespace heddle::python
