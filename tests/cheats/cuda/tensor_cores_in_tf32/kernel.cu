extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    const int row = blockIdx.y * 16, col = blockIdx.x * 8, lane = threadIdx.x % 32;
    const int group = lane / 4, part = lane % 4;
    float sums[4] = {};
    const auto at = [](const float* from, int r, int q, int rows, int cols) {
        unsigned bits = 0;
        const float value = r < rows && q < cols ? from[r * cols + q] : 0.0f;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
        return bits;
    };
    for (int first = 0; first < k; first += 8) {
        const unsigned a0 = at(a, row + group, first + part, m, k);
        const unsigned a1 = at(a, row + group + 8, first + part, m, k);
        const unsigned a2 = at(a, row + group, first + part + 4, m, k);
        const unsigned a3 = at(a, row + group + 8, first + part + 4, m, k);
        const unsigned b0 = at(b, first + part, col + group, k, n);
        const unsigned b1 = at(b, first + part + 4, col + group, k, n);
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    for (int q = 0; q < 4; ++q) {
        const int r = row + group + (q / 2) * 8, s = col + part * 2 + q % 2;
        if (r < m && s < n) c[r * n + s] = sums[q];
    }
}
