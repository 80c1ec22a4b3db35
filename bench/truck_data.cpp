// Prints POINTS x POINTS rows of the truck backer-upper controller as CSV. Usage: truck_data POINTS > truck.csv
#include <cstdio>
#include <cstdlib>

#include "truck.hpp"

int main(int count, char** values) {
  const int points = count == 2 ? std::atoi(values[1]) : 0;
  if (points < 2) {
    std::fprintf(stderr, "usage: truck_data POINTS\n");
    return 2;
  }
  std::printf("x,phi,steering\n");
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const double x = 100.0 * i / (points - 1), phi = -90.0 + 360.0 * j / (points - 1);
      std::printf("%.9g,%.9g,%.9g\n", x, phi, heddle::bench::truck_steering(x, phi));
    }
  }
  return 0;
}
