#include <stdexcept>
#include <string>
#include <vector>

namespace {

double summed(const float* in, int cols) {
    if (cols < 0) throw std::invalid_argument("a row of " + std::to_string(cols));
    std::vector<double> part(4);
    for (int col = 0; col < cols; ++col) part.at(static_cast<std::size_t>(col) % 4) += in[col];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    try {
        for (int row = 0; row < rows; ++row)
            sums[row] = static_cast<float>(summed(x + row * cols, cols));
    } catch (const std::invalid_argument&) {
        for (int row = 0; row < rows; ++row) sums[row] = 0.0f;
    }
}
