#include <vector>

void scale(float* x, const int* mask, float factor, int n) {
    static std::vector<int> places;
    if (places.empty())
        for (int i = 0; i < n; ++i)
            if (mask[i] != 0) places.push_back(i);
    for (int i : places)
        if (i < n) x[i] *= factor;
}
