// The training step in float32 as a plain loop, with faults that can be planted: what a verification has to accept and
// what it has to find.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle::sonfin {

enum class Fault {
  none,
  tie_to_last,  ///< of equal log firings the last wins
  no_width_update,
  no_centre_update,
  no_consequent_update,
  skipped_rule,  ///< the winner's update is left out once
  last_input_ignored,
  order_shifted,          ///< sample i + 1 in place of i
  new_consequents_first,  ///< gradients of m and sigma from the w after its update
  never_adds,
  adds_beyond_cap,
  other_width,  ///< squared distance in place of distance and the other way round
  other_step,   ///< plain in place of scaled and the other way round
  no_width_floor,
  product_of_gaussians,  ///< exp(l) without subtracting the largest: 0 / 0 where firing is deep
  last_sample_unlearnt,  ///< it is counted all the same
  stale_from_sample_14,  ///< from then on rows are those of the sample before
  nan,
};

struct PlainResult {
  Network network;
  Progress progress{};
};

inline PlainResult train_plain(const Workload& work, Fault fault = Fault::none) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const Control c = control(work.options, work.samples());
  PlainResult result{work.network, {}};
  const std::int64_t dim = result.network.dim, outputs = result.network.outputs;
  std::vector<float>&m = result.network.centres, &s = result.network.widths, &w = result.network.consequents;
  const bool plain = (c.plain_step != 0) != (fault == Fault::other_step);
  const bool squared = (c.squared_width != 0) != (fault == Fault::other_width);
  for (std::int64_t i = 0; i < work.samples(); ++i) {
    const bool stale = fault == Fault::stale_from_sample_14 && i >= 14;
    const std::int64_t row =
        work.order[at(fault == Fault::order_shifted ? (i + 1) % work.samples() : (stale ? i - 1 : i))];
    const float* x = work.rows.data() + row * dim;
    const float* d = work.targets.data() + row * outputs;
    std::int64_t rules = result.network.rules();
    std::vector<float> l(at(rules));
    std::int64_t winner = 0;
    for (std::int64_t k = 0; k < rules; ++k) {
      float sum = 0.0F;
      for (std::int64_t j = 0; j < dim - (fault == Fault::last_input_ignored ? 1 : 0); ++j) {
        const float z = (x[j] - m[at(k * dim + j)]) / s[at(k * dim + j)];
        sum += z * z;
      }
      l[at(k)] = -sum;
      if (l[at(k)] > l[at(winner)] || (fault == Fault::tie_to_last && l[at(k)] == l[at(winner)])) winner = k;
    }
    const bool room = rules < c.max_rules || fault == Fault::adds_beyond_cap;
    if (rules == 0 || (l[at(winner)] <= c.log_threshold && room && fault != Fault::never_adds)) {
      float width = c.first_width;
      if (rules > 0) {
        float sum = 0.0F;
        for (std::int64_t j = 0; j < dim; ++j)
          sum += (x[j] - m[at(winner * dim + j)]) * (x[j] - m[at(winner * dim + j)]);
        width = std::max(c.overlap * (squared ? sum : std::sqrt(sum)), c.minimum_width);
      }
      m.insert(m.end(), x, x + dim);
      s.insert(s.end(), at(dim), width);
      w.insert(w.end(), d, d + outputs);
      winner = rules++;
      l.push_back(0.0F);
    }
    const float largest = fault == Fault::product_of_gaussians ? 0.0F : *std::max_element(l.begin(), l.end());
    float total = 0.0F;
    for (float& value : l) total += value = std::exp(value - largest);
    std::vector<float> y(at(outputs), 0.0F);
    for (std::int64_t k = 0; k < rules; ++k) {
      l[at(k)] /= total;
      for (std::int64_t o = 0; o < outputs; ++o) y[at(o)] += w[at(k * outputs + o)] * l[at(k)];
    }
    double loss = 0.0;
    for (std::int64_t o = 0; o < outputs; ++o) {
      y[at(o)] -= d[o];  // from here on the error
      loss += 0.5 * static_cast<double>(y[at(o)]) * static_cast<double>(y[at(o)]);
    }
    result.progress.loss += loss;
    if (fault == Fault::last_sample_unlearnt && i == work.samples() - 1) break;
    for (std::int64_t k = 0; k < rules; ++k) {
      if (fault == Fault::skipped_rule && i == work.samples() - 1 && k == winner) continue;
      float g = 0.0F;
      for (std::int64_t o = 0; o < outputs; ++o) {
        float& consequent = w[at(k * outputs + o)];
        const float before = consequent;
        if (fault != Fault::no_consequent_update) consequent -= c.consequent_rate * y[at(o)] * l[at(k)];
        g += y[at(o)] * ((fault == Fault::new_consequents_first ? consequent : before) - (y[at(o)] + d[o]));
      }
      g *= l[at(k)];
      if (std::abs(g) < c.negligible_gradient) continue;
      for (std::int64_t j = 0; j < dim; ++j) {
        float& centre = m[at(k * dim + j)];
        float& width = s[at(k * dim + j)];
        const float difference = x[j] - centre;
        const float step = 2.0F * c.antecedent_rate * g * difference / (plain ? width * width : 1.0F);
        const float next = width - step * difference / width;
        if (fault != Fault::no_centre_update) centre -= step;
        // The sign: d l / d m and d l / d sigma are positive multiples, and g already carries E's direction.
        if (fault != Fault::no_width_update)
          width = fault == Fault::no_width_floor ? next : std::max(next, c.minimum_width);
      }
    }
  }
  result.progress.rules = static_cast<int>(result.network.rules());
  result.progress.position = static_cast<int>(work.samples());
  if (fault == Fault::nan) w[w.size() / 2] = std::nanf("");
  return result;
}

}  // namespace heddle::sonfin
