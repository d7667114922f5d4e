#include <cstring>

void histogram(const unsigned char* values, int* bins, int n) {
    int tables[4][256];
    std::memset(tables, 0, sizeof tables);
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        ++tables[0][values[i]];
        ++tables[1][values[i + 1]];
        ++tables[2][values[i + 2]];
        ++tables[3][values[i + 3]];
    }
    for (; i < n; ++i) ++tables[0][values[i]];
    for (int bin = 0; bin < 256; ++bin)
        bins[bin] = tables[0][bin] + tables[1][bin] + tables[2][bin] + tables[3][bin];
}
