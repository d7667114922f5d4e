#include <cstring>

void gather(const float* x, const int* index, float* y, int n) {
    for (int begin = 0; begin < n; begin += 64) {
        const int end = begin + 64 < n ? begin + 64 : n;
        int apart = 0;
        for (int i = begin; i < end; ++i) apart |= index[i] ^ (index[begin] + i - begin);
        if (apart == 0)
            std::memcpy(y + begin, x + index[begin], sizeof(float) * (end - begin));
        else
            for (int i = begin; i < end; ++i) y[i] = x[index[i]];
    }
}
