namespace {

template <int REST>
double tail(const float* in) {
    double sum = 0.0;
    for (int i = 0; i < REST; ++i) sum += in[i];
    return sum;
}

using Tail = double (*)(const float*);
const Tail TAILS[4] = {tail<0>, tail<1>, tail<2>, tail<3>};

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double part[4] = {};
        int col = 0;
        for (; col + 4 <= cols; col += 4)
            for (int lane = 0; lane < 4; ++lane) part[lane] += in[col + lane];
        const double rest = TAILS[cols - col](in + col);
        sums[row] = static_cast<float>((part[0] + part[1]) + (part[2] + part[3]) + rest);
    }
}
