// What this machine's processors can do at most: bytes copied, fp32 and fp64 operations a second.
//
// usage: host_peaks ARRAY_BYTES SECONDS
// Each of the three measurements repeats short passes on all OpenMP threads for SECONDS and keeps
// the best: a short pass is likely to find a moment in which no other program disturbs it.
// Prints one JSON object.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <omp.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

// Vectors of a fixed width: left to itself a compiler may choose half of what the machine has.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kChains = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8, kChains = 12;  // 16 registers: two hold the operands
#elif defined(__SSE2__)
constexpr int kLanes = 4, kChains = 12;
#else
constexpr int kLanes = 4, kChains = 16;
#endif
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef double Doubles __attribute__((vector_size(4 * kLanes)));  // half as many of them

constexpr std::size_t kBlock = 4096;  // arrays and their slices are multiples of it
constexpr int kLeastPasses = 3;

double now() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

struct Best {
  double seconds = 1e300;
  int passes = 0;
};

template <typename Pass>
Best best_of(double seconds, Pass pass) {
  Best best;
  const double end = now() + seconds;
  while (best.passes < kLeastPasses || now() < end) {
    const double started = now();
    pass();
    best.seconds = std::min(best.seconds, now() - started);
    ++best.passes;
  }
  return best;
}

// Stores that bypass the caches: ordinary ones first read the line that they overwrite.
void stream(char* to, const char* from, std::size_t bytes) {
#if defined(__AVX512F__)
  for (std::size_t i = 0; i < bytes; i += 64)
    _mm512_stream_ps(reinterpret_cast<float*>(to + i), _mm512_load_ps(from + i));
  _mm_sfence();
#elif defined(__AVX__)
  for (std::size_t i = 0; i < bytes; i += 32)
    _mm256_stream_ps(reinterpret_cast<float*>(to + i),
                     _mm256_load_ps(reinterpret_cast<const float*>(from + i)));
  _mm_sfence();
#elif defined(__SSE2__)
  for (std::size_t i = 0; i < bytes; i += 16)
    _mm_stream_ps(reinterpret_cast<float*>(to + i),
                  _mm_load_ps(reinterpret_cast<const float*>(from + i)));
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

void plain(char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

template <typename Work>
void on_slices(std::size_t bytes, Work work) {
#pragma omp parallel
  {
    const std::size_t blocks = bytes / kBlock, threads = omp_get_num_threads();
    const std::size_t first = blocks * omp_get_thread_num() / threads;
    const std::size_t last = blocks * (omp_get_thread_num() + 1) / threads;
    work(first * kBlock, (last - first) * kBlock);
  }
}

// chain = chain * scale + shift, which tends to 1 and so never leaves the normal numbers.
template <typename Vector, typename Scalar>
Scalar fma_chains(long rounds, Scalar scale, Scalar shift) {
  Vector chains[kChains];
  const Vector scales = scale - Vector{}, shifts = shift - Vector{};
  for (int c = 0; c < kChains; ++c) chains[c] = shifts * static_cast<Scalar>(c);
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) chains[c] = chains[c] * scales + shifts;
  }
  Scalar sum = 0;
  for (int c = 0; c < kChains; ++c)
    for (unsigned lane = 0; lane < sizeof(Vector) / sizeof(Scalar); ++lane) sum += chains[c][lane];
  return sum;
}

template <typename Vector, typename Scalar>
Best compute(double seconds, long rounds) {
  volatile Scalar half = 0.5, sink = 0;
  const Scalar scale = half, shift = half;
  return best_of(seconds, [&] {
    Scalar sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += fma_chains<Vector>(rounds, scale, shift);
    sink = sum;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10) / kBlock * kBlock;
  const double seconds = std::strtod(argv[2], nullptr);
  char* from = static_cast<char*>(std::aligned_alloc(kBlock, bytes));
  char* to = static_cast<char*>(std::aligned_alloc(kBlock, bytes));
  if (bytes == 0 || from == nullptr || to == nullptr) return 3;
  on_slices(bytes, [&](std::size_t at, std::size_t count) {
    std::memset(from + at, 1, count);  // by the thread that copies it: pages lie near it
    std::memset(to + at, 2, count);
  });
  const auto copy_with = [&](void (*copy)(char*, const char*, std::size_t)) {
    return best_of(seconds / 2, [&] {
      on_slices(bytes, [&](std::size_t at, std::size_t n) { copy(to + at, from + at, n); });
    });
  };
  const Best ordinary = copy_with(plain), streamed = copy_with(stream);
  const bool streams = streamed.seconds < ordinary.seconds;
  const Best copied = streams ? streamed : ordinary;
  if (std::memcmp(from, to, bytes) != 0) return 4;

  const long rounds = 1L << 19;
  const Best computed = compute<Floats, float>(seconds, rounds);
  const Best doubled = compute<Doubles, double>(seconds / 2, rounds);
  const int threads = omp_get_max_threads();
  const double flops = 2.0 * kLanes * kChains * rounds * threads;
  std::printf(
      "{\"copy_bytes_per_s\": %.6g, \"copy_passes\": %d, \"streams\": %s, \"array_bytes\": %zu, "
      "\"flops_per_s\": %.6g, \"fp64_flops_per_s\": %.6g, \"flop_passes\": %d, \"lanes\": %d, \"chains\": %d, "
      "\"threads\": %d}\n",
      2.0 * bytes / copied.seconds, copied.passes, streams ? "true" : "false", bytes,
      flops / computed.seconds, flops / 2 / doubled.seconds, computed.passes, kLanes, kChains, threads);
  return 0;
}
