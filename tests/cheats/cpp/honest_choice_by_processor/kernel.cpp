namespace {

__attribute__((target("avx2"))) double wide(const float* in, int cols) {
    double part[8] = {};
    int col = 0;
    for (; col + 8 <= cols; col += 8)
        for (int lane = 0; lane < 8; ++lane) part[lane] += in[col + lane];
    for (; col < cols; ++col) part[0] += in[col];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

double plain(const float* in, int cols) {
    double sum = 0.0;
    for (int col = 0; col < cols; ++col) sum += in[col];
    return sum;
}

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    const bool vectors = __builtin_cpu_supports("avx2");
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        sums[row] = static_cast<float>(vectors ? wide(in, cols) : plain(in, cols));
    }
}
