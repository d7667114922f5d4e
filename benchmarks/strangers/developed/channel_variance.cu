#include <cuda_runtime.h>

template <typename T>
__inline__ __device__ T warpSum(T val) {
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(0xffffffff, val, mask, 32);
  return val;
}

template <typename T>
__inline__ __device__ T blockSum(T val) {
  static __shared__ T shared[32];
  int lane = threadIdx.x & 0x1f;
  int wid = threadIdx.x >> 5;
  val = warpSum<T>(val);
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < (blockDim.x / 32.f)) ? shared[lane] : (T)(0.0f);
  val = warpSum<T>(val);
  return val;
}

// data: [rows, channels]; one block per channel
template <typename T>
__global__ void channel_variance(const T *__restrict__ data, T *__restrict__ variance,
                                 const int rows, const int channels) {
  __shared__ T s_mean;
  const int c = blockIdx.x;
  T sum = 0;
  for (int r = threadIdx.x; r < rows; r += blockDim.x) sum += data[r * channels + c];
  sum = blockSum<T>(sum);
  if (threadIdx.x == 0) s_mean = sum / rows;
  __syncthreads();
  T acc = 0;
  for (int r = threadIdx.x; r < rows; r += blockDim.x) {
    T d = data[r * channels + c] - s_mean;
    acc += d * d;
  }
  acc = blockSum<T>(acc);
  if (threadIdx.x == 0) variance[c] = acc / (rows - 1);
}

void launch_channel_variance(const float *data, float *variance, int rows, int channels,
                             cudaStream_t stream) {
  dim3 grid(channels);
  dim3 block(128);
  channel_variance<float><<<grid, block, 0, stream>>>(data, variance, rows, channels);
}
