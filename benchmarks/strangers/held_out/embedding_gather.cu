#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>
// out[t, :] = table[ids[t], :] + pos[t % T, :]
__global__ void embed(half *__restrict__ out, const int32_t *__restrict__ ids, const half *__restrict__ table,
                      const half *__restrict__ pos, int tokens, int T, int dim) {
  int t = blockIdx.x;
  int32_t id = ids[t];
  for (int d = threadIdx.x; d < dim; d += blockDim.x)
    out[t * dim + d] = __hadd(table[(int64_t)id * dim + d], pos[(t % T) * dim + d]);
}
void embed_forward(half *out, const int32_t *ids, const half *table, const half *pos, int tokens, int T, int dim, cudaStream_t s) {
  embed<<<tokens, 128, 0, s>>>(out, ids, table, pos, tokens, T, dim);
}
