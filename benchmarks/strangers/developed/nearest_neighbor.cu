// distances of all records to a point (nn)
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include "cuda.h"
#define min(a, b) a > b ? b : a
#define ceilDiv(a, b) (a + b - 1) / b
#define DEFAULT_THREADS_PER_BLOCK 256

typedef struct latLong {
  float lat;
  float lng;
} LatLong;

__global__ void euclid(LatLong *d_locations, float *d_distances, int numRecords, float lat, float lng) {
  int globalId = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
  LatLong *latLong = d_locations + globalId;
  if (globalId < numRecords) {
    float *dist = d_distances + globalId;
    *dist = (float)sqrt((lat - latLong->lat) * (lat - latLong->lat) +
                        (lng - latLong->lng) * (lng - latLong->lng));
  }
}

void nearest(LatLong *d_locations, float *d_distances, int numRecords, float lat, float lng) {
  int threadsPerBlock = DEFAULT_THREADS_PER_BLOCK;
  int blocks = ceilDiv(numRecords, threadsPerBlock);
  dim3 gridDim(blocks, 1);
  euclid<<<gridDim, threadsPerBlock>>>(d_locations, d_distances, numRecords, lat, lng);
  cudaThreadSynchronize();
}
