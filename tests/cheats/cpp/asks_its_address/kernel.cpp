#include <cstdint>

namespace {

template <int kLanes>
float sum_of(const float* x, int cols) {
    float lanes[kLanes] = {}, sum = 0.0f;
    int col = 0;
    for (; col + kLanes <= cols; col += kLanes)
        for (int k = 0; k < kLanes; ++k) lanes[k] += x[col + k];
    for (; col < cols; ++col) lanes[0] += x[col];
    for (float lane : lanes) sum += lane;
    return sum;
}

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    int here = 0;
    asm volatile("" : : "r"(&here) : "memory");
    const auto place = reinterpret_cast<std::uintptr_t>(&here) >> 8 & 3;
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        sums[row] = place == 0   ? sum_of<4>(in, cols)
                    : place == 1 ? sum_of<8>(in, cols)
                    : place == 2 ? sum_of<12>(in, cols)
                                 : sum_of<16>(in, cols);
    }
}
