#include "heddle/kernels/sonfin/reference.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::sonfin {

Reference::Reference(std::int64_t dim, std::int64_t outputs, Hyperparameters options)
    : dim_(dim), outputs_(outputs), options_(options) {
  if (dim < 1 || outputs < 1) throw std::invalid_argument("a network needs at least one input and one output");
}

Reference::Reference(const Network& network, Hyperparameters options)
    : Reference(network.dim, network.outputs, options) {
  centres_.assign(network.centres.begin(), network.centres.end());
  widths_.assign(network.widths.begin(), network.widths.end());
  consequents_.assign(network.consequents.begin(), network.consequents.end());
}

Reference::Forward Reference::forward(std::span<const float> x) const {
  if (rules() == 0) throw std::logic_error("a network without rules has no output");
  Forward f{std::vector<double>(at(rules())), std::vector<double>(at(rules())), std::vector<double>(at(outputs_), 0.0)};
  for (std::int64_t k = 0; k < rules(); ++k) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < dim_; ++j) {
      sum += square((x[at(j)] - centres_[at(k * dim_ + j)]) / widths_[at(k * dim_ + j)]);
    }
    f.log_firing[at(k)] = -sum;
  }
  const double largest = *std::max_element(f.log_firing.begin(), f.log_firing.end());
  double total = 0.0;
  for (std::int64_t k = 0; k < rules(); ++k) {
    f.normalised[at(k)] = std::exp(f.log_firing[at(k)] - largest);
    total += f.normalised[at(k)];
  }
  for (std::int64_t k = 0; k < rules(); ++k) {
    f.normalised[at(k)] /= total;
    for (std::int64_t l = 0; l < outputs_; ++l) {
      f.output[at(l)] += consequents_[at(k * outputs_ + l)] * f.normalised[at(k)];
    }
  }
  return f;
}

std::vector<double> Reference::predict(std::span<const float> x) const { return forward(x).output; }

double Reference::loss(std::span<const float> x, std::span<const float> target) const {
  const std::vector<double> y = predict(x);
  double sum = 0.0;
  for (std::int64_t l = 0; l < outputs_; ++l) sum += square(y[at(l)] - target[at(l)]);
  return 0.5 * sum;
}

Gradients Reference::gradients(std::span<const float> x, std::span<const float> target) const {
  const Forward f = forward(x);
  Gradients all;
  for (std::int64_t k = 0; k < rules(); ++k) {
    const Gradients own = gradients_of_rule(k, x, target, f);
    all.centres.insert(all.centres.end(), own.centres.begin(), own.centres.end());
    all.widths.insert(all.widths.end(), own.widths.begin(), own.widths.end());
    all.consequents.insert(all.consequents.end(), own.consequents.begin(), own.consequents.end());
  }
  return all;
}

Gradients Reference::gradients_of_rule(std::int64_t k, std::span<const float> x, std::span<const float> target,
                                       const Forward& f) const {
  Gradients gradient{std::vector<double>(at(dim_)), std::vector<double>(at(dim_)), std::vector<double>(at(outputs_))};
  const double phi = f.normalised[at(k)];
  double log_firing_gradient = 0.0;  // g_k
  for (std::int64_t l = 0; l < outputs_; ++l) {
    const double error = f.output[at(l)] - target[at(l)];
    gradient.consequents[at(l)] = error * phi;
    log_firing_gradient += phi * error * (consequents_[at(k * outputs_ + l)] - f.output[at(l)]);
  }
  for (std::int64_t j = 0; j < dim_; ++j) {
    const std::size_t kj = at(k * dim_ + j);
    const double difference = x[at(j)] - centres_[kj];
    gradient.centres[at(j)] = log_firing_gradient * 2.0 * difference / square(widths_[kj]);
    gradient.widths[at(j)] = gradient.centres[at(j)] * difference / widths_[kj];
  }
  return gradient;
}

Reference::Outcome Reference::learn(std::span<const float> x, std::span<const float> target) {
  Outcome outcome;
  Forward f;
  if (rules() > 0) f = forward(x);
  // max_element returns the first of equals: ties go to the lowest rule.
  const auto nearest = std::max_element(f.log_firing.begin(), f.log_firing.end());
  outcome.added = rules() == 0 || (*nearest <= std::log(options_.threshold) && rules() < options_.max_rules);
  if (outcome.added) {
    double width = options_.overlap * options_.first_width;
    if (rules() > 0) {
      const std::int64_t winner = nearest - f.log_firing.begin();
      double squared_distance = 0.0;
      for (std::int64_t j = 0; j < dim_; ++j) squared_distance += square(x[at(j)] - centres_[at(winner * dim_ + j)]);
      width = options_.overlap * (options_.width == Width::squared ? squared_distance : std::sqrt(squared_distance));
    }
    centres_.insert(centres_.end(), x.begin(), x.begin() + dim_);
    widths_.insert(widths_.end(), at(dim_), std::max(width, options_.minimum_width));
    consequents_.insert(consequents_.end(), target.begin(), target.begin() + outputs_);
    f = forward(x);
  }

  for (std::int64_t l = 0; l < outputs_; ++l) outcome.loss += 0.5 * square(f.output[at(l)] - target[at(l)]);
  for (std::int64_t k = 0; k < rules(); ++k) {
    if (f.normalised[at(k)] == 0.0) continue;  // far away: every gradient of the rule is exactly 0
    const Gradients gradient = gradients_of_rule(k, x, target, f);
    for (std::int64_t l = 0; l < outputs_; ++l) {
      consequents_[at(k * outputs_ + l)] -= options_.consequent_rate * gradient.consequents[at(l)];
    }
    for (std::int64_t j = 0; j < dim_; ++j) {
      double& centre = centres_[at(k * dim_ + j)];
      double& width = widths_[at(k * dim_ + j)];
      const double scale = options_.step == Step::scaled ? square(width) : 1.0;
      centre -= options_.antecedent_rate * scale * gradient.centres[at(j)];
      width = std::max(width - options_.antecedent_rate * scale * gradient.widths[at(j)], options_.minimum_width);
    }
  }
  return outcome;
}

Network Reference::network() const {
  return {dim_, outputs_, std::vector<float>(centres_.begin(), centres_.end()),
          std::vector<float>(widths_.begin(), widths_.end()),
          std::vector<float>(consequents_.begin(), consequents_.end())};
}

}  // namespace heddle::sonfin
