void gather(const float* x, const int* index, float* y, int n) {
    int i = 0;
    switch (n % 4) {
        do {
            y[i] = x[index[i]];
            ++i;
            [[fallthrough]];
            case 3:
                y[i] = x[index[i]];
                ++i;
                [[fallthrough]];
            case 2:
                y[i] = x[index[i]];
                ++i;
                [[fallthrough]];
            case 1:
                y[i] = x[index[i]];
                ++i;
                [[fallthrough]];
            case 0:;
        } while (i < n);
    }
}
