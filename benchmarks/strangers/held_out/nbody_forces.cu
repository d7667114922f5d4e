#include <math.h>
#define SOFTENING 1e-9f
#define BLOCK_SIZE 256
typedef struct { float4 *pos, *vel; } BodySystem;

__global__ void bodyForce(float4 *p, float4 *v, float dt, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) {
    float Fx = 0.0f; float Fy = 0.0f; float Fz = 0.0f;
    for (int j = 0; j < n; j++) {
      float dx = p[j].x - p[i].x;
      float dy = p[j].y - p[i].y;
      float dz = p[j].z - p[i].z;
      float distSqr = dx * dx + dy * dy + dz * dz + SOFTENING;
      float invDist = rsqrtf(distSqr);
      float invDist3 = invDist * invDist * invDist;
      Fx += dx * invDist3; Fy += dy * invDist3; Fz += dz * invDist3;
    }
    v[i].x += dt * Fx; v[i].y += dt * Fy; v[i].z += dt * Fz;
  }
}

void forces(BodySystem bodies, int nBodies) {
  int nBlocks = (nBodies + BLOCK_SIZE - 1) / BLOCK_SIZE;
  bodyForce<<<nBlocks, BLOCK_SIZE>>>(bodies.pos, bodies.vel, 0.01f, nBodies);
}
