namespace {

void copied(float* to, const float* from, long count) {
    long nbytes = 4 * count;
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(nbytes) : : "memory");
}

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    float piece[256];
    for (int row = 0; row < rows; ++row) {
        double part[4] = {};
        for (int from = 0; from < cols; from += 256) {
            const int count = cols - from < 256 ? cols - from : 256;
            copied(piece, x + row * cols + from, count);
            for (int i = 0; i < count; ++i) part[i % 4] += piece[i];
        }
        sums[row] = static_cast<float>((part[0] + part[1]) + (part[2] + part[3]));
    }
}
