#include <cmath>

// How many rows there were so far is kept for a debugger; no result hangs on it.
static long rows_so_far = 0;

void weighted_norm(const float* x, const float* weight, const float* bias, float* y, int rows,
                   int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double squares = 0.0;
        for (int col = 0; col < cols; ++col) squares += double(in[col]) * in[col];
        const float scale = float(1.0 / std::sqrt(squares / cols + 1e-5));
        for (int col = 0; col < cols; ++col)
            y[row * cols + col] = in[col] * scale * weight[col] + bias[col];
        ++rows_so_far;
    }
}
