// leapfrog step of particles in an array of structs
#include <cuda_runtime.h>
struct Particle {
  float3 pos;
  float3 vel;
  int cell;
  float mass;
};
__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }

__global__ void move_particles(Particle *p, const float3 *force, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle q = p[i];
  q.vel = q.vel + (dt / q.mass) * force[i];
  q.pos = q.pos + dt * q.vel;
  p[i] = q;
}

void step(Particle *p, const float3 *force, int n, float dt) {
  const int block = 128;
  move_particles<<<(n + block - 1) / block, block>>>(p, force, n, dt);
}
