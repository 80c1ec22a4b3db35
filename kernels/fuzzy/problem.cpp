#include "heddle/kernels/fuzzy/problem.hpp"

#include <fmt/format.h>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::fuzzy {

std::string_view suffix(Encoding encoding) { return encoding == Encoding::lower_upper ? "lu" : "mr"; }

Encoding encoding_of(std::string_view text) {
  if (text == "lu") return Encoding::lower_upper;
  if (text == "mr") return Encoding::midpoint_radius;
  throw Error(ErrorKind::usage, fmt::format("found the encoding {}, expected lu (lower and upper bounds) or mr "
                                            "(midpoint and radii)",
                                            in_quotes(text)));
}

std::string_view array_template(Encoding encoding) {
  return encoding == Encoding::lower_upper ? "LowerUpperArray" : "MidpointRadiusArray";
}

Axis numbers_axis() { return {.name = "numbers", .maximum = std::int64_t{1} << 30U}; }

std::vector<Axis> form_axes() {
  return {{.name = "cuts", .maximum = kMostCuts},
          {.name = "bits", .maximum = 64, .spacing = Spacing::equal, .values = {32, 64}},
          {.name = "layout", .maximum = 2, .spacing = Spacing::equal, .values = {kNumbers, kCuts}}};
}

ArrayShape shape_of(const Problem& problem, Encoding encoding, std::int64_t numbers) {
  return {.encoding = encoding,
          .numbers = numbers,
          .cuts = problem.at("cuts"),
          .bits = problem.at("bits") == 32 ? 32 : 64,
          .layout = problem.at("layout") == kNumbers ? kNumbers : kCuts};
}

std::vector<Constraint> form_constraints() {
  return {{.name = "bits is 32 (float) or 64 (double)",
           .last = {},
           .holds = [](const Configuration&, const Problem& problem,
                       const DeviceIdentity&) { return problem.at("bits") == 32 || problem.at("bits") == 64; }},
          {.name = "layout is 1 (numbers) or 2 (cuts)",
           .last = {},
           .holds = [](const Configuration&, const Problem& problem, const DeviceIdentity&) {
             return problem.at("layout") == 1 || problem.at("layout") == 2;
           }}};
}

std::string_view real_name(const ArrayShape& shape) { return shape.is_double() ? "double" : "float"; }

std::string array_name(const ArrayShape& shape) {
  return fmt::format("heddle::fuzzy::{}<{}, {}, heddle::fuzzy::{}>", array_template(shape.encoding), real_name(shape),
                     shape.cuts, shape.layout == kNumbers ? "kNumbers" : "kCuts");
}

}  // namespace heddle::fuzzy
