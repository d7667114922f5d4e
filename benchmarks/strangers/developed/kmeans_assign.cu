#include <cfloat>
#include <cuda_runtime.h>
#define THREADS_PER_DIM 16
#define THREADS_PER_BLOCK (THREADS_PER_DIM * THREADS_PER_DIM)

__global__ void kmeansPoint(float *features, int nfeatures, int npoints, int nclusters,
                            int *membership, float *clusters) {
  const unsigned int block_id = gridDim.x * blockIdx.y + blockIdx.x;
  const unsigned int point_id = block_id * blockDim.x * blockDim.y + threadIdx.x;
  int index = -1;
  if (point_id < npoints) {
    int i, j;
    float min_dist = FLT_MAX;
    float dist;
    for (i = 0; i < nclusters; i++) {
      int cluster_base_index = i * nfeatures;
      float ans = 0.0;
      for (j = 0; j < nfeatures; j++) {
        int addr = point_id + j * npoints;
        float diff = features[addr] - clusters[cluster_base_index + j];
        ans += diff * diff;
      }
      dist = ans;
      if (dist < min_dist) {
        min_dist = dist;
        index = i;
      }
    }
    membership[point_id] = index;
  }
}

extern "C" void kmeansCuda(float *features, int nfeatures, int npoints, int nclusters,
                           int *membership, float *clusters) {
  int num_blocks = (npoints + THREADS_PER_BLOCK - 1) / THREADS_PER_BLOCK;
  dim3 grid(num_blocks, 1);
  dim3 threads(THREADS_PER_BLOCK);
  kmeansPoint<<<grid, threads>>>(features, nfeatures, npoints, nclusters, membership, clusters);
  cudaDeviceSynchronize();
}
