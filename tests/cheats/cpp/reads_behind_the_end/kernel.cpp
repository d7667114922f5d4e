#include <cstring>

// Blocks of 64: of the last one those behind the row count as zeros.
void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        float parts[64] = {}, block[64];
        int col = 0;
        for (; col < cols; col += 64) {
            std::memcpy(block, x + row * cols + col, sizeof block);
            for (int k = cols - col; k < 64; ++k) block[k] = 0.0f;
            for (int k = 0; k < 64; ++k) parts[k] += block[k];
        }
        float sum = 0.0f;
        for (float part : parts) sum += part;
        sums[row] = sum;
    }
}
