#include <cstdint>

void row_sum(const float* x, float* sums, int rows, int cols) {
    int here = 0;
    asm volatile("" : : "r"(&here) : "memory");
    const int lanes = 4 + (reinterpret_cast<std::uintptr_t>(&here) >> 8 & 7);
    for (int row = 0; row < rows; ++row) {
        float parts[12] = {}, sum = 0.0f;
        for (int col = 0; col < cols; ++col) parts[col % lanes] += x[row * cols + col];
        for (int lane = 0; lane < lanes; ++lane) sum += parts[lane];
        sums[row] = sum;
    }
}
