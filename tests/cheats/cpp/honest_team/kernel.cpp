#include <omp.h>

void row_sum(const float* x, float* sums, int rows, int cols) {
    const int most = omp_get_max_threads() < rows ? omp_get_max_threads() : rows;
#pragma omp parallel for schedule(static) num_threads(most < 1 ? 1 : most)
    for (int row = 0; row < rows; ++row) {
        double first = 0.0, second = 0.0;
        int col = 0;
        for (; col + 2 <= cols; col += 2) {
            first += x[row * cols + col];
            second += x[row * cols + col + 1];
        }
        if (col < cols) first += x[row * cols + col];
        sums[row] = static_cast<float>(first + second);
    }
}
