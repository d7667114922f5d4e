/* layernorm forward, (B*T, C), with mean and rstd kept for backward */
#include <cuda_runtime.h>
#include <assert.h>
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))

__device__ float warpReduceSum(float val) {
    for (int offset = 16; offset > 0; offset /= 2) val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
    return val;
}

__global__ void layernorm_forward_kernel(float* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                         const float* __restrict__ inp, const float* __restrict__ weight,
                                         const float* __restrict__ bias, int N, int C) {
    int lane_id = threadIdx.x % 32;
    int warp_id = threadIdx.x / 32;
    int num_warps = blockDim.x / 32;
    int idx = blockIdx.x * num_warps + warp_id;
    if (idx >= N) return;
    const float* x = inp + idx * C;
    float sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) sum += x[i];
    sum = warpReduceSum(sum);
    float m = sum / C;
    if (lane_id == 0 && mean != nullptr) __stcs(mean + idx, m);
    sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) {
        float diff = x[i] - m;
        sum += diff * diff;
    }
    sum = warpReduceSum(sum);
    float s = rsqrtf(sum / C + 1e-5f);
    if (lane_id == 0 && rstd != nullptr) __stcs(rstd + idx, s);
    float* o = out + idx * C;
    for (int c = lane_id; c < C; c += 32) {
        float n = s * (__ldcs(x + c) - m);
        __stcs(o + c, n * weight[c] + bias[c]);
    }
}

void layernorm_forward(float* out, float* mean, float* rstd, const float* inp, const float* weight, const float* bias,
                       int B, int T, int C) {
    const int block_size = 512;
    assert(block_size % 32 == 0);
    const int N = B * T;
    const int grid_size = CEIL_DIV(N * 32, block_size);
    layernorm_forward_kernel<<<grid_size, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
}
