#include <cmath>

void weighted_norm(const float* x, const float* weight, const float* bias, float* y, int rows,
                   int cols) {
    for (int row = 0; row < rows; row += 2) {
        const int both = row + 1 < rows;
        const float* in[2] = {x + row * cols, x + (row + both) * cols};
        float scale[2];
        for (int each = 0; each < 2; ++each) {
            double squares = 0.0;
            for (int col = 0; col < cols; ++col) squares += double(in[each][col]) * in[each][col];
            scale[each] = float(1.0 / std::sqrt(squares / cols + 1e-5));
        }
        for (int col = 0; col < cols; ++col) {
            const float w = weight[col], b = bias[col];
            for (int each = 0; each <= both; ++each)
                y[(row + each) * cols + col] = in[each][col] * scale[each] * w + b;
        }
    }
}
