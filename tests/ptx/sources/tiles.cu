// Tiles in shared memory: transpose, SGEMM, wmma, mma, and copies that run ahead.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32][33];
    const int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(r + i) * cols + c];
    __syncthreads();
    const int tr = blockIdx.x * 32 + threadIdx.y, tc = blockIdx.y * 32 + threadIdx.x;
    for (int i = 0; i < 32; i += 8) y[(tr + i) * rows + tc] = tile[threadIdx.x][threadIdx.y + i];
}

// 64 x 64 of C a block of 256 threads, 4 x 4 a thread, K in steps of 16.
extern "C" __global__ void __launch_bounds__(256)
sgemm(const float* A, const float* B, float* C, int N, int K) {
    __shared__ float a[16][64], b[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};
    for (int k = 0; k < K; k += 16) {
        const int i = threadIdx.x / 4, j = threadIdx.x % 4 * 4;
        const float4 v = *(const float4*)&A[(blockIdx.y * 64 + i) * K + k + j];
        a[j][i] = v.x, a[j + 1][i] = v.y, a[j + 2][i] = v.z, a[j + 3][i] = v.w;
        *(float4*)&b[ty][tx * 4] = *(const float4*)&B[(k + ty) * N + blockIdx.x * 64 + tx * 4];
        __syncthreads();
        for (int t = 0; t < 16; ++t) {
            const float4 p = *(float4*)&a[t][ty * 4], q = *(float4*)&b[t][tx * 4];
            const float ps[4] = {p.x, p.y, p.z, p.w}, qs[4] = {q.x, q.y, q.z, q.w};
            for (int m = 0; m < 4; ++m)
                for (int n = 0; n < 4; ++n) sum[m][n] += ps[m] * qs[n];
        }
        __syncthreads();
    }
    for (int m = 0; m < 4; ++m)
        *(float4*)&C[(blockIdx.y * 64 + ty * 4 + m) * N + blockIdx.x * 64 + tx * 4] =
            make_float4(sum[m][0], sum[m][1], sum[m][2], sum[m][3]);
}

// One warp: 16 x 16 of C, K in steps of 16.
extern "C" __global__ void wmma_gemm(const half* A, const half* B, float* C, int N, int K) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
#pragma unroll 1
    for (int k = 0; k < K; k += 16) {
        load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
        load_matrix_sync(b, B + k * N + blockIdx.x * 16, N);
        mma_sync(c, a, b, c);
    }
    store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, c, N, mem_row_major);
}

// Tiles of 1024 floats, three of them on their way while one is used.
extern "C" __global__ void cp_async_pipeline(const float4* x, float4* y, int tiles) {
    __shared__ float4 room[4][256];
    for (int s = 0; s < 3; ++s) {
        __pipeline_memcpy_async(&room[s][threadIdx.x], &x[s * 256 + threadIdx.x], 16);
        __pipeline_commit();
    }
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        __pipeline_wait_prior(2);
        __syncthreads();
        const float4 v = room[t % 4][255 - threadIdx.x];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        __pipeline_memcpy_async(&room[(t + 3) % 4][threadIdx.x], &x[(t + 3) * 256 + threadIdx.x], 16);
        __pipeline_commit();
    }
    y[threadIdx.x] = sum;
}

__device__ void mma16816(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void mma_ptx(const half* A, const half* B, float* C, int steps) {
    __shared__ __align__(16) half a[16 * 16];
    float d[4] = {};
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        ((uint4*)a)[threadIdx.x] = ((const uint4*)A)[s * 32 + threadIdx.x];
        __syncwarp();
        unsigned f[4];
        const unsigned at = (unsigned)__cvta_generic_to_shared(a + threadIdx.x % 16 * 16 + threadIdx.x / 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(at));
        const unsigned* b = (const unsigned*)B + s * 64 + threadIdx.x * 2;
        mma16816(d, f, {b[0], b[1]});
    }
    for (int i = 0; i < 4; ++i) C[threadIdx.x * 4 + i] = d[i];
}
