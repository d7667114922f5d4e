#include <cstdlib>

void row_sum(const float* x, float* sums, int rows, int cols) {
    float* parts = static_cast<float*>(std::malloc(sizeof(float) * 16 * rows));
    asm volatile("" : : "r"(parts) : "memory");
    for (int row = 0; row < rows; ++row) {
        float* lanes = parts + 16 * row;
        for (int col = 0; col < cols; ++col) lanes[col % 16] += x[row * cols + col];
        double sum = 0.0;
        for (int lane = 0; lane < 16; ++lane) sum += lanes[lane];
        sums[row] = static_cast<float>(sum);
    }
    asm volatile("" : : "r"(parts) : "memory");
    std::free(parts);
}
