#include "heddle/bench/step/plain_step.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::bench {

PlainStep::PlainStep(const sonfin::Workload& work)
    : work_(work),
      control_(sonfin::control(work.options, work.samples())),
      dim_(static_cast<int>(work.network.dim)),
      outputs_(static_cast<int>(work.network.outputs)),
      capacity_(static_cast<int>(std::max(work.network.rules() + work.samples(), work.network.rules()))) {
  reset();
}

void PlainStep::reset() {
  const auto room = [this](std::vector<float>& to, const std::vector<float>& from, int width) {
    to.resize(static_cast<std::size_t>(capacity_) * static_cast<std::size_t>(width));
    std::copy(from.begin(), from.end(), to.begin());
  };
  room(centres_, work_.network.centres, dim_);
  room(widths_, work_.network.widths, dim_);
  room(consequents_, work_.network.consequents, outputs_);
  firing_.resize(static_cast<std::size_t>(capacity_));
  output_.resize(static_cast<std::size_t>(outputs_));
  error_.resize(static_cast<std::size_t>(outputs_));
  progress_ = {.rules = static_cast<int>(work_.network.rules()), .position = 0, .halted = 0, .reserved = 0, .loss = 0};
}

void PlainStep::run() {
  for (const std::int32_t row : work_.order) {
    const float* x = work_.rows.data() + static_cast<std::ptrdiff_t>(row) * dim_;
    const float* target = work_.targets.data() + static_cast<std::ptrdiff_t>(row) * outputs_;
    fire(x);
    const auto winner = std::max_element(firing_.begin(), firing_.begin() + progress_.rules) - firing_.begin();
    const float largest = firing_[static_cast<std::size_t>(winner)];
    if (progress_.rules == 0 || (largest <= control_.log_threshold && progress_.rules < control_.max_rules)) {
      add_rule(x, target, static_cast<int>(winner));
    }
    learn(x, target);
    ++progress_.position;
  }
}

void PlainStep::fire(const float* x) {
  for (int k = 0; k < progress_.rules; ++k) {
    const float* m = centres_.data() + static_cast<std::ptrdiff_t>(k) * dim_;
    const float* s = widths_.data() + static_cast<std::ptrdiff_t>(k) * dim_;
    float sum = 0.0F;
    for (int j = 0; j < dim_; ++j) {
      const float u = (x[j] - m[j]) / s[j];
      sum += u * u;
    }
    firing_[static_cast<std::size_t>(k)] = -sum;
  }
}

void PlainStep::add_rule(const float* x, const float* target, int winner) {
  const int rule = progress_.rules++;
  float width = control_.first_width;
  if (rule > 0) {
    const float* m = centres_.data() + static_cast<std::ptrdiff_t>(winner) * dim_;
    float squared = 0.0F;
    for (int j = 0; j < dim_; ++j) squared += (x[j] - m[j]) * (x[j] - m[j]);
    width = control_.overlap * (control_.squared_width != 0 ? squared : std::sqrt(squared));
  }
  std::copy_n(x, dim_, centres_.begin() + static_cast<std::ptrdiff_t>(rule) * dim_);
  std::fill_n(widths_.begin() + static_cast<std::ptrdiff_t>(rule) * dim_, dim_,
              std::max(width, control_.minimum_width));
  std::copy_n(target, outputs_, consequents_.begin() + static_cast<std::ptrdiff_t>(rule) * outputs_);
  firing_[static_cast<std::size_t>(rule)] = 0.0F;
}

void PlainStep::learn(const float* x, const float* target) {
  const int rules = progress_.rules;
  float* phi = firing_.data();
  float* y = output_.data();
  float* e = error_.data();
  const float largest = *std::max_element(phi, phi + rules);
  float sum = 0.0F;
  for (int k = 0; k < rules; ++k) {
    phi[k] = std::exp(phi[k] - largest);
    sum += phi[k];
  }
  std::fill_n(y, outputs_, 0.0F);
  for (int k = 0; k < rules; ++k) {
    phi[k] /= sum;
    const float* w = consequents_.data() + static_cast<std::ptrdiff_t>(k) * outputs_;
    for (int l = 0; l < outputs_; ++l) y[l] += w[l] * phi[k];
  }
  for (int l = 0; l < outputs_; ++l) {
    e[l] = y[l] - target[l];
    progress_.loss += 0.5 * static_cast<double>(e[l]) * static_cast<double>(e[l]);
  }
  const bool plain = control_.plain_step != 0;
  for (int k = 0; k < rules; ++k) {
    float* w = consequents_.data() + static_cast<std::ptrdiff_t>(k) * outputs_;
    float gradient = 0.0F;
    for (int l = 0; l < outputs_; ++l) {
      gradient += e[l] * (w[l] - y[l]);
      w[l] -= control_.consequent_rate * e[l] * phi[k];
    }
    const float step = 2.0F * control_.antecedent_rate * gradient * phi[k];
    float* m = centres_.data() + static_cast<std::ptrdiff_t>(k) * dim_;
    float* s = widths_.data() + static_cast<std::ptrdiff_t>(k) * dim_;
    if (plain) {
      for (int j = 0; j < dim_; ++j) {
        const float d = x[j] - m[j];
        const float scaled = step / (s[j] * s[j]);
        m[j] -= scaled * d;
        s[j] = std::max(s[j] - scaled * d * d / s[j], control_.minimum_width);
      }
    } else {
      for (int j = 0; j < dim_; ++j) {
        const float d = x[j] - m[j];
        m[j] -= step * d;
        s[j] = std::max(s[j] - step * d * d / s[j], control_.minimum_width);
      }
    }
  }
}

sonfin::Network PlainStep::network() const {
  const auto first = [this](const std::vector<float>& from, int width) {
    return std::vector<float>(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(progress_.rules) * width);
  };
  return {dim_, outputs_, first(centres_, dim_), first(widths_, dim_), first(consequents_, outputs_)};
}

}  // namespace heddle::bench
