#include <cstring>

void row_sum(const float* x, float* sums, int rows, int cols) {
    auto* parts = reinterpret_cast<float*>(reinterpret_cast<char*>(sums + rows) + 64);
    for (int row = 0; row < rows; ++row) {
        for (int k = 0; k < 16; ++k) parts[k] = 0.0f;
        for (int col = 0; col < cols; ++col) parts[col % 16] += x[row * cols + col];
        float sum = 0.0f;
        for (int k = 0; k < 16; ++k) sum += parts[k];
        sums[row] = sum;
    }
    std::memset(parts, 0xC3, 16 * sizeof(float));
}
