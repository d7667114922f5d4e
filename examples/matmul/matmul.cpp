// C = A B for row-major float matrices: A is M x K, B is K x N, C is M x N.
// The defaults below are the textbook loops; each macro changes one thing about them.

#include <algorithm>

#ifndef ORDER
#define ORDER 0  // 0: i-j-k, a dot product for each element; 1: i-k-j, rows of B added up
#endif
#ifndef TILE
#define TILE 0  // B is taken in tiles of TILE rows and 8 * TILE columns; 0: whole
#endif
#ifndef UNROLL
#define UNROLL 1  // steps of k taken together; at most TILE
#endif
#ifndef THREADS
#define THREADS 1
#endif

namespace {

struct Range {
    int first, last;  // last is exclusive
};

#if ORDER == 0

// c[j] += a . column j of B, over the given columns and the given steps of k.
void add_product(const float* a, const float* B, float* c, Range columns, Range steps, int N) {
    for (int j = columns.first; j < columns.last; ++j) {
        float sums[UNROLL] = {};
        int k = steps.first;
        for (; k + UNROLL <= steps.last; k += UNROLL) {
            for (int u = 0; u < UNROLL; ++u) sums[u] += a[k + u] * B[(k + u) * N + j];
        }
        for (; k < steps.last; ++k) sums[0] += a[k] * B[k * N + j];
        for (int u = 0; u < UNROLL; ++u) c[j] += sums[u];
    }
}

#else

// Adds a[0] * (row 0 of B) + ... + a[Count - 1] * (row Count - 1 of B) to c.
template <int Count>
void add_rows(const float* a, const float* B, float* __restrict c, Range columns, int N) {
    for (int j = columns.first; j < columns.last; ++j) {
        float sum = c[j];
        for (int u = 0; u < Count; ++u) sum += a[u] * B[u * N + j];
        c[j] = sum;
    }
}

// c[j] += a . column j of B, over the given columns and the given steps of k.
void add_product(const float* a, const float* B, float* c, Range columns, Range steps, int N) {
    int k = steps.first;
    for (; k + UNROLL <= steps.last; k += UNROLL) add_rows<UNROLL>(a + k, B + k * N, c, columns, N);
    for (; k < steps.last; ++k) add_rows<1>(a + k, B + k * N, c, columns, N);
}

#endif

void multiply_rows(const float* A, const float* B, float* C, Range rows, int N, int K) {
    std::fill(C + rows.first * N, C + rows.last * N, 0.0f);
    const int tile_rows = TILE > 0 ? TILE : K;
    const int tile_columns = TILE > 0 ? 8 * TILE : N;
    for (int j = 0; j < N; j += tile_columns) {
        const Range columns{j, std::min(j + tile_columns, N)};
        for (int k = 0; k < K; k += tile_rows) {
            const Range steps{k, std::min(k + tile_rows, K)};
            for (int i = rows.first; i < rows.last; ++i) {
                add_product(A + i * K, B, C + i * N, columns, steps, N);
            }
        }
    }
}

}  // namespace

void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int share = (M + THREADS - 1) / THREADS;
#pragma omp parallel for num_threads(THREADS)
    for (int t = 0; t < THREADS; ++t) {
        const int first = std::min(t * share, M);
        multiply_rows(A, B, C, {first, std::min(first + share, M)}, N, K);
    }
}
