// A user's own stopwatch: ordinary vectors, plain calls one after the other, std::chrono.
//
// It knows nothing of the product. Prints one JSON object: milliseconds of the first call (pages,
// caches and threads are met for the first time), the median of plain calls after it (`ms`, warm) and
// of calls after each of which other data took the caches (`cold_ms`), the number of plain calls, and
// a sum over what the last call wrote.
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

inline double median(std::vector<double> ms) {
  std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
  return ms[ms.size() / 2];
}

// Calls `work` for `seconds`, six times at least; then 7 times with `kOther` bytes written between.
template <class Work, class Sum>
int timed(double seconds, const Work& work, const Sum& sum) {
  using Clock = std::chrono::steady_clock;
  const auto once = [&work] {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  const double first = once();
  std::vector<double> warm, cold;
  const auto begun = Clock::now();
  do warm.push_back(once());
  while (warm.size() < 5 || Clock::now() - begun < std::chrono::duration<double>(seconds));
  constexpr std::size_t kOther = std::size_t{96} << 20;  // more than most last-level caches
  std::vector<char> other(kOther);
  for (int i = 0; i < 7; ++i) {
    std::fill(other.begin(), other.end(), static_cast<char>(i));
    asm volatile("" : : "r"(other.data()) : "memory");
    cold.push_back(once());
  }
  std::printf("{\"first_ms\": %.6g, \"ms\": %.6g, \"cold_ms\": %.6g, \"calls\": %zu, \"sum\": %.17g}\n",
              first, median(warm), median(cold), warm.size() + 1, sum());
  return 0;
}
