void first_largest(const float* x, int* at, int rows, int cols) {
    constexpr int kLanes = 8;
    for (int row = 0; row < rows; ++row) {
        const float* in = x + static_cast<long>(row) * cols;
        float best[kLanes];
        int where[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            best[lane] = in[lane < cols ? lane : 0];
            where[lane] = lane < cols ? lane : 0;
        }
        int col = kLanes;
        for (; col + kLanes <= cols; col += kLanes)
            for (int lane = 0; lane < kLanes; ++lane) {
                const bool larger = in[col + lane] > best[lane];
                best[lane] = larger ? in[col + lane] : best[lane];
                where[lane] = larger ? col + lane : where[lane];
            }
        int found = 0;
        for (int lane = 1; lane < kLanes; ++lane)
            if (best[lane] > best[found] ||
                (best[lane] == best[found] && where[lane] < where[found])) found = lane;
        int place = where[found];
        for (; col < cols; ++col)
            if (in[col] > in[place]) place = col;
        at[row] = place;
    }
}
