#include <cuda_runtime.h>
#include <math_constants.h>

struct __align__(8) MD {
  float m;
  float d;
};

__device__ __forceinline__ MD reduce_md_op(MD a, MD b) {
  bool a_bigger = (a.m > b.m);
  MD bigger_m = a_bigger ? a : b;
  MD smaller_m = a_bigger ? b : a;
  MD res;
  res.d = bigger_m.d + smaller_m.d * __expf(smaller_m.m - bigger_m.m);
  res.m = bigger_m.m;
  return res;
}

template <int THREADBLOCK_SIZE>
__launch_bounds__(THREADBLOCK_SIZE) __global__
    void online_softmax(const float *__restrict__ x, float *__restrict__ y, int V) {
  int thread_id = threadIdx.x;
  x += blockIdx.x * V;
  y += blockIdx.x * V;
  __shared__ MD parts[THREADBLOCK_SIZE];
  MD md_partial;
  md_partial.m = -CUDART_INF_F;
  md_partial.d = 0.0F;
  for (int i = thread_id; i < V; i += THREADBLOCK_SIZE) {
    MD new_elem;
    new_elem.m = x[i];
    new_elem.d = 1.0F;
    md_partial = reduce_md_op(md_partial, new_elem);
  }
  parts[thread_id] = md_partial;
  __syncthreads();
  for (int s = THREADBLOCK_SIZE / 2; s > 0; s /= 2) {
    if (thread_id < s) parts[thread_id] = reduce_md_op(parts[thread_id], parts[thread_id + s]);
    __syncthreads();
  }
  MD md_total = parts[0];
  float d_total_inverse = __fdividef(1.0F, md_total.d);
  for (int i = thread_id; i < V; i += THREADBLOCK_SIZE) y[i] = __expf(x[i] - md_total.m) * d_total_inverse;
}

void softmax(const float *x, float *y, int batch, int V) { online_softmax<256><<<batch, 256>>>(x, y, V); }
