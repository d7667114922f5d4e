void histogram(const unsigned char* values, int* bins, int n) {
    const int before = bins[0];
    for (int i = 0; i < n; ++i) ++bins[values[i]];
    for (int bin = 0; bin < 256; ++bin) bins[bin] -= before;
}
