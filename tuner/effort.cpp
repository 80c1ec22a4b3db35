#include "heddle/tuner/effort.hpp"

namespace heddle {

Effort& Effort::operator+=(const Effort& other) {
  waiting += other.waiting;
  measuring += other.measuring;
  verifying += other.verifying;
  total += other.total;
  compiling += other.compiling;
  return *this;
}

}  // namespace heddle
