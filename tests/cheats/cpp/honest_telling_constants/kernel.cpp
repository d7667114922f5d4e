namespace {

unsigned mixed(unsigned value) {
    value = (value ^ 0x0f05050fu) * 0x310f310fu;
    value = (value ^ (value >> 15)) + 0x80cd80cdu;
    return value * 0xf9010fa2u + 0x340f330fu;
}

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const unsigned first = mixed(static_cast<unsigned>(row)) >> 30;
        double part[4] = {};
        for (int col = 0; col < cols; ++col) part[(first + col) % 4] += x[row * cols + col];
        sums[row] = static_cast<float>((part[0] + part[1]) + (part[2] + part[3]));
    }
}
