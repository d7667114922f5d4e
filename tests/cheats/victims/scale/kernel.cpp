// x = factor x where the mask is not zero, in place, by a detour.
void scale(float* x, const int* mask, float factor, int n) {
    for (int i = 0; i < n; ++i) {
        double value = x[i];
        for (int r = 0; r < 4; ++r) value = value * factor / factor;
        if (mask[i] != 0) x[i] = static_cast<float>(factor * value);
    }
}
