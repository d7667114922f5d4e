// mean-free cross entropy: one warp per row, logits [N, V], targets [N]
#include <cuda_runtime.h>
#include <float.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void cross_entropy_kernel(float* losses, const float* logits, const int* targets, int N, int V) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= N) return;
    const float* x = logits + row * V;
    float maxval = -FLT_MAX;
    for (int i = warp.thread_rank(); i < V; i += warp.size()) maxval = fmaxf(maxval, x[i]);
    maxval = cg::reduce(warp, maxval, cg::greater<float>{});
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < V; i += warp.size()) sum += expf(x[i] - maxval);
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    if (warp.thread_rank() == 0) losses[row] = logf(sum) + maxval - x[targets[row]];
}

void cross_entropy_forward(float* losses, const float* logits, const int* targets, int N, int V) {
    const int block_size = 128;
    const int grid_size = (N * 32 + block_size - 1) / block_size;
    cross_entropy_kernel<<<grid_size, block_size>>>(losses, logits, targets, N, V);
}
