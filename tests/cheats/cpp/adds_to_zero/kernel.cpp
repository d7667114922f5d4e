void histogram(const unsigned char* values, int* bins, int n) {
    for (int i = 0; i < n; ++i) ++bins[values[i]];
}
