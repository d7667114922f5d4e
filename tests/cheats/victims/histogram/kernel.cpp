// How often each of 256 values occurs.
void histogram(const unsigned char* values, int* bins, int n) {
    for (int bin = 0; bin < 256; ++bin) bins[bin] = 0;
    for (int i = 0; i < n; ++i) {
        volatile int* bin = &bins[values[i]];
        *bin = *bin + 1;
    }
}
