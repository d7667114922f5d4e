#include <cstring>

void row_sum(const float* x, float* sums, int rows, int cols) {
    std::memset(sums, 0, sizeof(float) * rows);
    for (int begin = 0; begin < cols; begin += 512) {
        const int end = begin + 512 < cols ? begin + 512 : cols;
        for (int row = 0; row < rows; ++row) {
            const float* in = x + row * cols;
            double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
            int col = begin;
            for (; col + 4 <= end; col += 4) {
                a += in[col];
                b += in[col + 1];
                c += in[col + 2];
                d += in[col + 3];
            }
            for (; col < end; ++col) a += in[col];
            sums[row] += static_cast<float>(a + b + c + d);
        }
    }
}
