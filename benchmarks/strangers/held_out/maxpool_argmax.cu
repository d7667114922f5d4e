#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

template <typename scalar_t>
__global__ void max_pool1d_kernel(const scalar_t* __restrict__ input, scalar_t* __restrict__ output, int64_t* __restrict__ indices,
                                  int planes, int length, int kernel, int stride, int out_length) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int p = blockIdx.y;
    if (o >= out_length || p >= planes) return;
    const scalar_t* in = input + p * length;
    scalar_t best = -FLT_MAX;
    int64_t where = 0;
    for (int k = 0; k < kernel; ++k) {
        int at = o * stride + k;
        if (at < length && in[at] > best) {
            best = in[at];
            where = at;
        }
    }
    output[p * out_length + o] = best;
    indices[p * out_length + o] = where;
}

std::vector<torch::Tensor> max_pool1d(torch::Tensor x, int kernel, int stride) {
    auto planes = x.size(0), length = x.size(1);
    int out_length = (length - kernel) / stride + 1;
    auto out = torch::empty({planes, out_length}, x.options());
    auto idx = torch::empty({planes, out_length}, x.options().dtype(torch::kInt64));
    const dim3 blocks((out_length + 127) / 128, planes);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "max_pool1d", ([&] {
        max_pool1d_kernel<scalar_t><<<blocks, 128>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(),
            idx.data_ptr<int64_t>(), planes, length, kernel, stride, out_length);
    }));
    return {out, idx};
}
