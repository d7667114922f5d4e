// A program with what makes recording hard: structures, tables of pointers, constants, clusters,
// cooperative launches, much shared memory, pinned memory, state, a graph; and, for nearly all of its
// time, a sum of rows as a beginner writes it.  program [repeats]
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                        \
    do {                                                                \
        cudaError_t code = (call);                                      \
        if (code) {                                                     \
            printf("%s: %s\n", #call, cudaGetErrorString(code));        \
            exit(1);                                                    \
        }                                                               \
    } while (0)

namespace cg = cooperative_groups;
constexpr int kMany = 24576;

struct View {
    float* data;
    int count;
    double scale;
};

__constant__ float coefficients[4];
__device__ int counter;

__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
__global__ void by_structure(View in, View out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < in.count) out.data[i] = in.data[i] * (float)in.scale;
}
__global__ void by_table(float* const* rows, float* out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int r = 0; r < m; ++r) sum += rows[r][i];
    out[i] = sum;
}
__global__ void polynomial(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = coefficients[0] + v * (coefficients[1] + v * (coefficients[2] + v * coefficients[3]));
}
template <class T, int K>
__global__ void turned(const T* x, T* y, long long n) {
    extern __shared__ char raw[];
    T* held = (T*)raw;
    long long first = blockIdx.x * (long long)K;
    for (int i = threadIdx.x; i < K; i += blockDim.x) held[i] = x[(first + i) % n];
    __syncthreads();
    for (int i = threadIdx.x; i < K; i += blockDim.x)
        if (first + i < n) y[first + i] = held[K - 1 - i];
}
__global__ void atomic_sum(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
__global__ void together(float* x, float* part, int n) {
    cg::grid_group grid = cg::this_grid();
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    part[grid.thread_rank()] = sum;
    grid.sync();
    if (grid.thread_rank()) return;
    float total = 0;
    for (int i = 0; i < (int)grid.size(); ++i) total += part[i];
    x[0] = total;
}
__global__ void clustered(float* x) {
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ float mine;
    if (threadIdx.x == 0) mine = blockIdx.x;
    cluster.sync();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (threadIdx.x == 0) x[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
    cluster.sync();
}
__global__ void stateful(int* out) {
    if (threadIdx.x == 0) out[0] = ++counter;
}
__global__ void to_host(int* out) { out[threadIdx.x] = threadIdx.x * 3; }
__global__ void in_place(float* x, int n, char k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f + k;
}
extern "C" __global__ void rowsum(const float* x, float* out, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int c = 0; c < columns; ++c) sum += x[(size_t)row * columns + c];
    out[row] = sum;
}

static unsigned long long digest(const std::vector<float>& values) {
    unsigned long long hash = 1469598103934665603ull;
    const unsigned char* bytes = (const unsigned char*)values.data();
    for (size_t i = 0; i < 4 * values.size(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
    return hash;
}

int main(int argc, char** argv) {
    int n = 100000, blocks = (n + 255) / 256, repeats = argc > 1 ? atoi(argv[1]) : 200;
    std::vector<float> h(n);
    for (int i = 0; i < n; ++i) h[i] = (i * 7919ll % 1000) / 999.f;
    float *a, *b, *c, *sum, *part, **table;
    int *out, *pinned;
    OK(cudaMalloc(&a, 4 * n));
    OK(cudaMalloc(&b, 4 * n));
    OK(cudaMalloc(&c, 4 * n));
    OK(cudaMalloc(&sum, 4));
    OK(cudaMalloc(&part, 4 * 132 * 256));
    OK(cudaMalloc(&out, 4));
    OK(cudaMallocHost(&pinned, 4 * 32));
    OK(cudaMemcpy(a, h.data(), 4 * n, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, h.data(), 4 * n, cudaMemcpyHostToDevice));
    OK(cudaMemset(sum, 0, 4));
    OK(cudaMemset(part, 0, 4 * 132 * 256));
    add<<<blocks, 256>>>(a, b, c, n);
    add<<<(n / 2 + 255) / 256, 256>>>(a, b, c, n / 2);
    by_structure<<<blocks, 256>>>(View{c, n, 1.5}, View{b, n, 0});
    float* rows[3] = {a, b, c};
    OK(cudaMalloc(&table, sizeof rows));
    OK(cudaMemcpy(table, rows, sizeof rows, cudaMemcpyHostToDevice));
    by_table<<<blocks, 256>>>(table, part, 10000, 3);
    float k[4] = {1, 2, 3, 4};
    OK(cudaMemcpyToSymbol(coefficients, k, sizeof k));
    polynomial<<<blocks, 256>>>(a, c, n);
    auto much = turned<float, kMany>;
    OK(cudaFuncSetAttribute(much, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * kMany));
    much<<<4, 512, 4 * kMany>>>(a, c, n);
    atomic_sum<<<blocks, 256>>>(a, sum, n);
    void* given[] = {&a, &part, &n};
    OK(cudaLaunchCooperativeKernel((void*)together, 132, 256, given));
    cudaLaunchAttribute four[1];
    four[0].id = cudaLaunchAttributeClusterDimension;
    four[0].val.clusterDim.x = 4;
    four[0].val.clusterDim.y = four[0].val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 8;
    config.blockDim = 32;
    config.attrs = four;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, clustered, part));
    for (int i = 0; i < 3; ++i) stateful<<<1, 32>>>(out);
    to_host<<<1, 32>>>(pinned);
    in_place<<<blocks, 256>>>(c, n, 3);
    OK(cudaDeviceSynchronize());
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<blocks, 256, 0, stream>>>(a, b, c, n);
    in_place<<<blocks, 256, 0, stream>>>(c, n, 1);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 10; ++i) OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    int many = 8192, columns = 4096;
    float *x, *y;
    std::vector<float> values((size_t)many * columns), sums(many);
    for (size_t i = 0; i < values.size(); ++i) values[i] = (float)((i * 2654435761u >> 20) & 15);
    OK(cudaMalloc(&x, 4 * values.size()));
    OK(cudaMalloc(&y, 4 * many));
    OK(cudaMemcpy(x, values.data(), 4 * values.size(), cudaMemcpyHostToDevice));
    rowsum<<<(many + 255) / 256, 256>>>(x, y, many, columns);
    OK(cudaDeviceSynchronize());
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) rowsum<<<(many + 255) / 256, 256>>>(x, y, many, columns);
    OK(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    OK(cudaMemcpy(sums.data(), y, 4 * many, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(h.data(), c, 4 * n, cudaMemcpyDeviceToHost));
    printf("step %.4f ms, sums %016llx, rest %016llx\n", took.count() / repeats, digest(sums),
           digest(h));
    return 0;
}
