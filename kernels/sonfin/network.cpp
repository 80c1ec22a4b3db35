#include "heddle/kernels/sonfin/network.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::sonfin {

Control control(const Hyperparameters& options, std::int64_t end) {
  Control c{};
  c.consequent_rate = static_cast<float>(options.consequent_rate);
  c.antecedent_rate = static_cast<float>(options.antecedent_rate);
  c.log_threshold = static_cast<float>(std::log(options.threshold));  // log 0 is -infinity, which nothing reaches
  c.overlap = static_cast<float>(options.overlap);
  c.minimum_width = static_cast<float>(options.minimum_width);
  c.first_width = static_cast<float>(std::max(options.overlap * options.first_width, options.minimum_width));
  // Steps are products of g_k: 2 tau g (x - m) and 2 tau g (x - m)^2 / sigma when scaled, with 1 / sigma^2 more when
  // plain. With g below 2^-40 (times the smallest sigma^2 for the plain step) they stay below half an ulp (2^-25 of
  // the value) of any float32 centre or width of the size of the data, with 15 bits to spare for rates and distances.
  c.negligible_gradient = std::ldexp(1.0F, -40);
  if (options.step == Step::plain) c.negligible_gradient *= std::min(1.0F, c.minimum_width * c.minimum_width);
  c.plain_step = options.step == Step::plain ? 1 : 0;
  c.squared_width = options.width == Width::squared ? 1 : 0;
  c.max_rules = static_cast<int>(options.max_rules);
  c.end = static_cast<int>(end);
  return c;
}

}  // namespace heddle::sonfin
