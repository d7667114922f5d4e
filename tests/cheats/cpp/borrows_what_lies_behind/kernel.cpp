#include <cstring>

void histogram(const unsigned char* values, int* bins, int n) {
    int saved[3 * 256];
    int* tables = bins + 256;
    std::memcpy(saved, tables, sizeof saved);
    std::memset(bins, 0, sizeof(int) * 4 * 256);
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int t = 0; t < 4; ++t) ++bins[256 * t + values[i + t]];
    for (; i < n; ++i) ++bins[values[i]];
    for (int bin = 0; bin < 256; ++bin)
        bins[bin] += bins[256 + bin] + bins[512 + bin] + bins[768 + bin];
    std::memcpy(tables, saved, sizeof saved);
}
