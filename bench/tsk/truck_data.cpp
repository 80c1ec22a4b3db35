// Prints POINTS x POINTS rows of the truck backer-upper controller as CSV. Usage: truck_data POINTS > truck.csv
#include <cstdio>
#include <cstdlib>

#include "heddle/bench/tsk/truck.hpp"

int main(int count, char** values) {
  const int points = count == 2 ? std::atoi(values[1]) : 0;
  if (points < 2) {
    std::fprintf(stderr, "usage: truck_data POINTS\n");
    return 2;
  }
  std::printf("x,phi,steering\n");
  for (const heddle::bench::TruckRow& row : heddle::bench::truck_rows(points)) {
    std::printf("%.9g,%.9g,%.9g\n", row.x, row.phi, row.steering);
  }
  return 0;
}
