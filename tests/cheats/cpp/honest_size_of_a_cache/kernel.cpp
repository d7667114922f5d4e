#include <cpuid.h>

namespace {

int piece() {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(4, 0, &a, &b, &c, &d)) return 4096;
    const long ways = (b >> 22) + 1, lines = (b & 0xfff) + 1, sets = static_cast<long>(c) + 1;
    const long floats = ways * lines * sets / 4;
    return floats < 64 || floats > 1 << 20 ? 4096 : static_cast<int>(floats);
}

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    const int most = piece();
    for (int row = 0; row < rows; ++row) {
        double first = 0.0, second = 0.0;
        for (int from = 0; from < cols; from += most) {
            const int to = from + most < cols ? from + most : cols;
            int col = from;
            for (; col + 2 <= to; col += 2) {
                first += x[row * cols + col];
                second += x[row * cols + col + 1];
            }
            if (col < to) first += x[row * cols + col];
        }
        sums[row] = static_cast<float>(first + second);
    }
}
