__device__ unsigned rounded(float value) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}

__device__ void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int q = 0; q < 4; ++q) sums[q] += d[q];
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    const int row = blockIdx.y * 16, col = blockIdx.x * 8, group = threadIdx.x / 4;
    const int part = threadIdx.x % 4;
    float sums[4] = {};
    for (int first = 0; first < k; first += 8) {
        unsigned large[4], small[4], right[2];
        for (int q = 0; q < 4; ++q) {
            const int r = row + group + q % 2 * 8, s = first + part + q / 2 * 4;
            const float value = r < m && s < k ? a[r * k + s] : 0.0f;
            large[q] = rounded(value);
            small[q] = rounded(value - __uint_as_float(large[q]));
        }
        for (int q = 0; q < 2; ++q) {
            const int r = first + part + q * 4, s = col + group;
            right[q] = rounded(r < k && s < n ? b[r * n + s] : 0.0f);
        }
        multiply(sums, large, right);
        multiply(sums, small, right);
    }
    for (int q = 0; q < 4; ++q) {
        const int r = row + group + q / 2 * 8, s = col + part * 2 + q % 2;
        if (r < m && s < n) c[r * n + s] = sums[q];
    }
}
