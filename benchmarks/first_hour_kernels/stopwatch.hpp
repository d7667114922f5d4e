// A user's own stopwatch: ordinary vectors, plain calls one after the other, std::chrono.
//
// It knows nothing of the product. Prints one JSON object: milliseconds of the first call (a cold
// start: pages, caches and threads are met for the first time), the median of the calls after it,
// their number, and a sum over what the last call wrote.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <random>
#include <type_traits>
#include <vector>

// `count` values: normal ones for floats, 0 to `below` for integers.
template <class T>
std::vector<T> filled(std::size_t count, unsigned seed, int below) {
  std::mt19937 random(seed);
  std::vector<T> made(count);
  for (T& each : made)
    if constexpr (std::is_floating_point_v<T>)
      each = static_cast<T>(std::normal_distribution<double>()(random));
    else
      each = static_cast<T>(random() % static_cast<unsigned>(below));
  return made;
}

template <class T>
double sum_of(const std::vector<T>& values) {
  double sum = 0;
  for (const T& each : values) sum += static_cast<double>(each);
  return sum;
}

// Calls `work` for `seconds`, five times at least.
template <class Work, class Sum>
int timed(double seconds, const Work& work, const Sum& sum) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> ms;
  const auto begun = Clock::now();
  do {
    const auto start = Clock::now();
    work();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  } while (ms.size() < 6 || Clock::now() - begun < std::chrono::duration<double>(seconds));
  const double first = ms.front();
  ms.erase(ms.begin());
  std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
  std::printf("{\"first_ms\": %.6g, \"ms\": %.6g, \"calls\": %zu, \"sum\": %.17g}\n", first,
              ms[ms.size() / 2], ms.size() + 1, sum());
  return 0;
}
