#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void avg_pool2d_kernel(const float* input, float* output, int channels, int height, int width, int k) {
    int oh = height / k;
    int ow = width / k;
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= channels * oh * ow) return;
    int x = index % ow;
    int y = (index / ow) % oh;
    int c = index / (ow * oh);
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
        for (int j = 0; j < k; ++j)
            sum += input[(c * height + y * k + i) * width + x * k + j];
    output[index] = sum / (k * k);
}

torch::Tensor avg_pool2d(torch::Tensor input, int k) {
    int n = input.size(0), c = input.size(1), h = input.size(2), w = input.size(3);
    auto output = torch::zeros({n, c, h / k, w / k}, input.options());
    int total = n * c * (h / k) * (w / k);
    avg_pool2d_kernel<<<(total + 255) / 256, 256>>>(input.data_ptr<float>(), output.data_ptr<float>(), n * c, h, w, k);
    return output;
}
