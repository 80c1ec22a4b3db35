#include "heddle/runtime/fuzzy/number_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/fuzzy/decimal.hpp"
#include "heddle/kernels/fuzzy/shapes.hpp"
#include "heddle/runtime/data/data_file.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/text_lines.hpp"

namespace heddle::fuzzy {
namespace {

enum class Form : std::uint8_t { crisp, triangular, trapezoidal, bounds, radii };

/// The names that say which form the columns have.
std::vector<std::string> header_of(Form form, int cuts) {
  if (form == Form::crisp) return {"value"};
  if (form == Form::triangular) return {"a", "b", "c"};
  if (form == Form::trapezoidal) return {"a", "b", "c", "d"};
  std::vector<std::string> names;
  if (form == Form::radii) names.emplace_back("midpoint");
  for (int i = 0; i < cuts; ++i) {
    if (form == Form::bounds) names.push_back(fmt::format("lower_{}", i));
    names.push_back(fmt::format("{}_{}", form == Form::bounds ? "upper" : "radius", i));
  }
  return names;
}

/// Of how many cuts these names are the bounds or the radii; 0 for other names.
int cuts_named(const std::vector<std::string>& names) {
  const int bounds = static_cast<int>(names.size()) / 2, radii = static_cast<int>(names.size()) - 1;
  for (const auto& [form, cuts] : {std::pair(Form::bounds, bounds), std::pair(Form::radii, radii)}) {
    if (cuts > 0 && names == header_of(form, cuts)) return cuts;
  }
  return 0;
}

std::string meaning_of(Form form, int cuts) {
  const std::string count = std::to_string(header_of(form, cuts).size());
  if (form == Form::crisp) return count + " (a crisp number)";
  if (form == Form::triangular) return count + " (a triangular number)";
  if (form == Form::trapezoidal) return count + " (a trapezoidal number)";
  const std::string of_cuts = fmt::format("{} {})", cuts, cuts == 1 ? "cut" : "cuts");
  return count + (form == Form::bounds ? " (the bounds of " : " (midpoint and the radii of ") + of_cuts;
}

/// What line 1 and the number of columns say.
struct Columns {
  Form form = Form::crisp;
  bool header = false;
};

/// A header has names alone. Nothing for numbers alone.
std::optional<std::vector<std::string>> header_names(const Fields& first, const std::string& source) {
  const auto named = [](std::string_view field) { return is_word(bare(field)); };
  const auto words = std::count_if(first.begin(), first.end(), named);
  if (words == 0) return std::nullopt;
  if (static_cast<std::size_t>(words) == first.size()) return names_of(first);
  const auto word = std::find_if(first.begin(), first.end(), named);
  refuse(place(source, 1, word - first.begin() + 1), field_text(*word), "a number, or names alone as a header");
}

Columns columns_of(const Fields& first, const NumberFormat& format, const std::string& source) {
  const auto names = header_names(first, source);
  // By the number of its columns alone such a table could be taken for one of another form.
  if (const int cuts = names ? cuts_named(*names) : 0; cuts != 0 && cuts != format.cuts) {
    refuse(source + ":1", fmt::format("the header of numbers of {} {}", cuts, cuts == 1 ? "cut" : "cuts"),
           fmt::format("that of {}, or --cuts {}", format.cuts, cuts));
  }
  std::vector<Form> fitting;
  std::vector<std::string> meanings;
  for (const Form form : {Form::crisp, Form::triangular, Form::trapezoidal, Form::bounds, Form::radii}) {
    const std::vector<std::string> header = header_of(form, format.cuts);
    if (names && *names == header) return {form, true};
    if (form == Form::radii && format.encoding == Encoding::lower_upper) continue;
    meanings.push_back(meaning_of(form, format.cuts));
    if (header.size() == first.size()) fitting.push_back(form);
  }
  const std::string where = source + ":1", found = fmt::format("{} columns", first.size());
  if (fitting.empty()) {
    refuse(where, first.size() == 1 ? "1 column" : found, "as many as " + fmt::format("{}", fmt::join(meanings, ", ")));
  }
  if (fitting.size() > 1) {
    const auto header = [&](Form form) { return fmt::format("'{}'", fmt::join(header_of(form, format.cuts), ",")); };
    refuse(where, found + ", which could be two things",
           "the header " + header(fitting[0]) + " or " + header(fitting[1]));
  }
  return {fitting.front(), names.has_value()};
}

/// A number as a row has it: bounds of every cut, or a midpoint and radii. In double, rounded outwards.
struct Row {
  std::vector<Interval<double>> bounds;  ///< of each cut; empty: midpoint and radii
  Spelled midpoint = {};
  std::vector<double> radii;
};

/// Reads rows of one form.
class Rows {
 public:
  Rows(Form form, const NumberFormat& format, std::string source)
      : form_(form), format_(format), source_(std::move(source)), levels_(format.levels) {
    if (!levels_.empty()) return;
    levels_.reserve(at(format.cuts));
    for (int i = 0; i < format.cuts; ++i) levels_.push_back(even_level(i, format.cuts));
  }

  [[nodiscard]] const Row& read(const Fields& fields, std::int64_t line) {
    fields_ = fields;
    line_ = line;
    spelled_.clear();
    for (std::size_t j = 0; j < fields.size(); ++j) {
      std::optional<Spelled> number = read_decimal(fields[j]);
      if (!number) number = read_decimal(bare(fields[j]));  // in double quotes
      if (!number) refuse(j, "a number");
      spelled_.push_back(*number);
    }
    row_.bounds.clear();
    row_.radii.clear();
    if (form_ == Form::bounds) {
      read_bounds();
    } else if (form_ == Form::radii) {
      read_radii();
    } else {
      read_corners();
    }
    return row_;
  }

  /// Throws what is wrong with the present row from its column `j` on.
  [[noreturn]] void refuse(std::size_t j, const std::string& expected) const {
    heddle::refuse(place(source_, line_, static_cast<std::int64_t>(j) + 1), field_text(fields_[j]), expected);
  }
  [[noreturn]] void refuse_asymmetric() const {
    heddle::refuse(fmt::format("{}:{}", source_, line_), "a number that is not symmetric",
                   "a symmetric one for midpoint and radii (--enclose takes the narrowest that contains it)");
  }

  /// Whether rows have the bounds of cuts, which may have been rounded to the type of the numbers.
  [[nodiscard]] bool have_bounds() const { return form_ == Form::bounds; }

 private:
  /// Column `j` must not be below column `least`: its number certainly is where one of its neighbours is.
  void require_at_least(std::size_t j, std::size_t least, const std::string& what) const {
    const Spelled &number = spelled_[j], &bound = spelled_[least];
    if (number.down < bound.down || number.up < bound.up) refuse(j, "at least " + quoted(least) + ", " + what);
  }
  void require_at_most(std::size_t j, std::size_t most, const std::string& what) const {
    const Spelled &number = spelled_[j], &bound = spelled_[most];
    if (number.down > bound.down || number.up > bound.up) refuse(j, "at most " + quoted(most) + ", " + what);
  }
  void require_finite(std::size_t j) const {
    if (std::isinf(spelled_[j].down) && std::isinf(spelled_[j].up)) refuse(j, "a finite number");
  }
  [[nodiscard]] std::string quoted(std::size_t j) const { return field_text(fields_[j]); }

  void read_bounds() {
    for (std::size_t j = 0; j < spelled_.size(); j += 2) {
      if (spelled_[j].down == Traits<double>::infinity) refuse(j, "a lower bound below inf");
      if (spelled_[j + 1].up == -Traits<double>::infinity) refuse(j + 1, "an upper bound above -inf");
      require_at_least(j + 1, j, "the lower bound");
      if (j > 0) require_at_least(j, j - 2, "the lower bound of the cut before");
      if (j > 0) require_at_most(j + 1, j - 1, "the upper bound of the cut before");
      row_.bounds.push_back({spelled_[j].down, spelled_[j + 1].up});
    }
  }
  void read_radii() {
    require_finite(0);
    row_.midpoint = spelled_[0];
    for (std::size_t j = 1; j < spelled_.size(); ++j) {
      if (spelled_[j].down < 0.0) refuse(j, "a radius of at least 0");
      if (j > 1) require_at_most(j, j - 1, "the radius of the cut before");
      row_.radii.push_back(spelled_[j].up);
    }
  }
  void read_corners() {
    for (std::size_t j = 0; j < spelled_.size(); ++j) {
      require_finite(j);
      if (j > 0) require_at_least(j, j - 1, "the corner before");
    }
    if (form_ == Form::crisp) {
      row_.midpoint = spelled_[0];
      row_.radii.assign(levels_.size(), 0.0);
      return;
    }
    // Rises from a to b and falls from c to d. A cut grows if a and b are moved down, c and d up.
    const std::size_t last = spelled_.size() - 1;
    const double a = spelled_[0].down, b = spelled_[1].down, c = spelled_[last - 1].up, d = spelled_[last].up;
    for (const double& level : levels_) {
      row_.bounds.push_back({trapezoidal<LowerUpper<double, 1>>(a, b, b, b, &level).lower[0],
                             trapezoidal<LowerUpper<double, 1>>(c, c, c, d, &level).upper[0]});
    }
  }

  Form form_;
  const NumberFormat& format_;
  std::string source_;
  std::vector<double> levels_;
  Fields fields_;
  std::int64_t line_ = 0;
  std::vector<Spelled> spelled_;
  Row row_;
};

/// The bounds of every cut in type T; the whole line where one is infinite.
template <class T>
void append_bounds(std::vector<T>& values, const Row& row) {
  const auto append = [&](double lower, double upper) {
    const Interval<T> cut = closed(narrowed_down<T>(lower), narrowed_up<T>(upper));
    values.push_back(cut.lower);
    values.push_back(cut.upper);
  };
  for (const Interval<double>& cut : row.bounds) append(cut.lower, cut.upper);
  for (const double radius : row.radii) {
    append(subtract_down(row.midpoint.down, radius), add_up(row.midpoint.up, radius));
  }
}

/// Whether the cuts have one midpoint, but for what rounding moved: the bounds of shapes were rounded in double, and
/// bounds of a table perhaps in T, which excuses no more than a small part of a cut's width.
template <class T>
bool is_symmetric(const std::vector<Interval<double>>& bounds, double midpoint, bool rounded_before) {
  constexpr double kUnits = 16, kPart = 1.0 / 16;
  for (const Interval<double>& cut : bounds) {
    const bool below = std::isinf(cut.lower), above = std::isinf(cut.upper);
    if (below != above) return false;
    if (below) continue;
    const double size = std::max(std::abs(cut.lower), std::abs(cut.upper));
    double allowed = kUnits * (Traits<double>::half_unit * size + Traits<double>::smallest);
    if (rounded_before) {
      const double before = kUnits * (static_cast<double>(Traits<T>::half_unit) * size + Traits<T>::smallest);
      allowed = std::max(allowed, std::min(before, kPart * (cut.upper - cut.lower)));
    }
    if (!(std::abs(0.5 * cut.lower + 0.5 * cut.upper - midpoint) <= allowed)) return false;
  }
  return true;
}

/// Midpoint and radii in type T, of the narrowest cuts around the middle of the highest.
template <class T>
void append_radii(std::vector<T>& values, const Row& row, const Rows& rows, bool enclose) {
  const std::size_t cuts = row.bounds.size() + row.radii.size();
  double middle = row.midpoint.near;
  if (!row.bounds.empty()) {
    const Interval<double> top = row.bounds.back();
    middle = top.lower == top.upper ? top.lower : 0.5 * top.lower + 0.5 * top.upper;
    if (!std::isfinite(middle)) middle = 0.0;  // the whole line, or half of it
    if (!enclose && !is_symmetric<T>(row.bounds, middle, rows.have_bounds())) rows.refuse_asymmetric();
  }
  const T midpoint = static_cast<T>(middle);
  if (!std::isfinite(midpoint)) {
    values.push_back(T(0));
    values.insert(values.end(), cuts, Traits<T>::infinity);
    return;
  }
  const double m = midpoint;
  values.push_back(midpoint);
  const auto farthest = [m](double lower, double upper) {
    return larger(0.0, larger(subtract_up(upper, m), subtract_up(m, lower)));
  };
  for (const Interval<double>& cut : row.bounds) values.push_back(narrowed_up<T>(farthest(cut.lower, cut.upper)));
  const double moved = farthest(row.midpoint.down, row.midpoint.up);
  for (const double radius : row.radii) values.push_back(narrowed_up<T>(add_up(radius, moved)));
}

}  // namespace

template <class T>
Numbers<T> read_numbers(const std::filesystem::path& file, const NumberFormat& format) {
  const std::string bytes = read_data_file(file), source = file.string();
  Lines lines(bytes);
  if (lines.done()) refuse(source, "no rows", "rows of numbers");
  const std::int64_t line_count = lines.count();
  std::string_view line = lines.next();
  const bool commas = line.find(',') != std::string_view::npos;
  Fields fields;
  split(line, commas, fields);
  if (fields.empty() || (fields.size() == 1 && fields.front().empty())) {
    refuse(place(source, 1, 1), "an empty line", "a row of numbers or a header");
  }
  const Columns columns = columns_of(fields, format, source);
  const auto width = static_cast<std::int64_t>(fields.size());
  if (columns.header && lines.done()) refuse(source, "a header and no rows", "rows of numbers");

  Numbers<T> numbers{.encoding = format.encoding, .cuts = format.cuts, .values = {}};
  numbers.values.reserve(at(line_count * components(format.encoding, format.cuts)));
  Rows rows(columns.form, format, source);
  for (std::int64_t number = 1;; ++number) {
    if (number > 1 || !columns.header) {
      if (static_cast<std::int64_t>(fields.size()) != width) refuse_ragged(source, width, number, fields);
      const Row& row = rows.read(fields, number);
      format.encoding == Encoding::lower_upper ? append_bounds(numbers.values, row)
                                               : append_radii(numbers.values, row, rows, format.enclose);
    }
    if (lines.done()) return numbers;
    line = lines.next();
    split(line, commas, fields);
  }
}

template <class T>
std::string number_text(const Numbers<T>& numbers) {
  const bool lower_upper = numbers.encoding == Encoding::lower_upper;
  std::string text =
      fmt::format("{}\n", fmt::join(header_of(lower_upper ? Form::bounds : Form::radii, numbers.cuts), ","));
  const std::size_t width = at(components(numbers.encoding, numbers.cuts));
  constexpr std::size_t kUsualLength = 20;
  text.reserve(text.size() + numbers.values.size() * kUsualLength);
  for (std::size_t begin = 0; begin < numbers.values.size(); begin += width) {
    const std::span number(numbers.values.data() + begin, width);
    // The decimal midpoint is half a unit away at most; the radii cover it.
    T moved = T(0);
    if (!lower_upper && !append_near(text, number[0])) {
      moved = fused_up(Traits<T>::half_unit, magnitude(number[0]), Traits<T>::smallest);
    }
    for (std::size_t j = lower_upper ? 0 : 1; j < width; ++j) {
      if (j > 0) text += ',';
      if (lower_upper && j % 2 == 0) {
        append_down(text, number[j]);
      } else {
        append_up(text, lower_upper ? number[j] : add_up(number[j], moved));
      }
    }
    text += '\n';
  }
  return text;
}

template Numbers<float> read_numbers(const std::filesystem::path&, const NumberFormat&);
template Numbers<double> read_numbers(const std::filesystem::path&, const NumberFormat&);
template std::string number_text(const Numbers<float>&);
template std::string number_text(const Numbers<double>&);

}  // namespace heddle::fuzzy
