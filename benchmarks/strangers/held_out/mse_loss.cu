#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

__inline__ __device__ float warp_reduce_sum(float val) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

__global__ void mse_kernel(const float* __restrict__ pred, const float* __restrict__ target, float* __restrict__ loss, int64_t n) {
    __shared__ float warp_sums[32];
    float thread_sum = 0.0f;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)blockDim.x * gridDim.x) {
        float d = pred[i] - target[i];
        thread_sum += d * d;
    }
    thread_sum = warp_reduce_sum(thread_sum);
    int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
    if (lane == 0) warp_sums[wid] = thread_sum;
    __syncthreads();
    if (wid == 0) {
        thread_sum = lane < (blockDim.x + warpSize - 1) / warpSize ? warp_sums[lane] : 0.0f;
        thread_sum = warp_reduce_sum(thread_sum);
        if (lane == 0) atomicAdd(loss, thread_sum / n);
    }
}

torch::Tensor forward(torch::Tensor pred, torch::Tensor target) {
    TORCH_CHECK(pred.is_cuda(), "pred must be CUDA");
    auto loss = torch::zeros({1}, pred.options());
    const int64_t n = pred.numel();
    const int block_size = 256;
    const int grid_size = std::min<int64_t>(1024, (n + block_size - 1) / block_size);
    mse_kernel<<<grid_size, block_size>>>(pred.data_ptr<float>(), target.data_ptr<float>(), loss.data_ptr<float>(), n);
    return loss;
}
