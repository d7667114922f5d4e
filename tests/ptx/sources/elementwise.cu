// Kernels without shared tiles: copies by width, special functions, branches, calls, local memory.
#include <cstdio>
#include <cuda_fp16.h>

extern "C" __global__ void copy4(const float4* x, float4* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

extern "C" __global__ void strided(const float* x, float* y, int n, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}

extern "C" __global__ void halves(const __half2* x, __half2* y, __half2 a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(a, x[i], __hadd2(y[i], x[i]));
}

extern "C" __global__ void gelu(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

extern "C" __global__ void approximate(const float* x, float* y) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = __expf(x[i]) + __sinf(x[i]) * rsqrtf(x[i]) + __fdividef(x[i], 3.0f);
}

extern "C" __global__ void doubles(const double* x, double* y, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum = fma(x[i], x[i], sum);
    y[threadIdx.x] = sqrt(sum) / n;
}

extern "C" __global__ void cases(const int* which, float* y) {
    const float v = y[threadIdx.x];
    switch (which[blockIdx.x]) {
        case 0: y[threadIdx.x] = v + 1.0f; break;
        case 1: y[threadIdx.x] = v * v; break;
        case 2: y[threadIdx.x] = sqrtf(v); break;
        case 3: y[threadIdx.x] = __logf(v); break;
        case 4: y[threadIdx.x] = 1.0f / v; break;
        case 5: y[threadIdx.x] = __cosf(v); break;
        default: y[threadIdx.x] = 0.0f;
    }
}

__device__ __noinline__ float norm3(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }

extern "C" __global__ void calls(const float* x, float* y) {
    const float v = norm3(x[threadIdx.x], x[threadIdx.x + 1], x[threadIdx.x + 2]);
    if (v < 0.0f) printf("negative %f\n", v);
    y[threadIdx.x] = v;
}

extern "C" __global__ void pick_local(const float* x, float* y, int at) {
    float mine[32];
    for (int i = 0; i < 32; ++i) mine[i] = x[i * 32 + threadIdx.x];
    float sum = 0.0f;
    for (int i = 0; i < at; ++i) sum += mine[(i * 7 + at) & 31];
    y[threadIdx.x] = sum;
}

extern "C" __global__ void collatz(const int* x, int* y) {
    int v = x[threadIdx.x], steps = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        ++steps;
    }
    y[threadIdx.x] = steps;
}

extern "C" __global__ void rows(const int* start, const float* x, float* y) {
    float sum = 0.0f;
    for (int i = start[blockIdx.x]; i < start[blockIdx.x + 1]; ++i) sum += x[i];
    y[blockIdx.x] = sum;
}

extern "C" __global__ void stencil(const float* x, float* y, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (c >= cols - 1) return;
#pragma unroll 1
    for (int r = 1; r < rows - 1; ++r)
        y[r * cols + c] = 0.25f * (x[(r - 1) * cols + c] + x[(r + 1) * cols + c] +
                                   x[r * cols + c - 1] + x[r * cols + c + 1]);
}

extern "C" __global__ void nested(const float* x, float* y, int n, int m) {
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < n; ++i)
#pragma unroll 1
        for (int j = 0; j < 24; j += 3)
#pragma unroll 1
            for (int k = m; k > 0; --k) sum += x[(i * 24 + j) * m + k];
    y[threadIdx.x] = sum;
}
