// Kernels of the pretended program. `slow_scale` is what a beginner wrote.
#include <stddef.h>

#define PARAMS(name, ...) const unsigned long name##_params[] = {__VA_ARGS__}

int global_factor = 2;
int global_calls = 0;

// y[i] = global_factor * x[i] + table->rows[i % 2][0], in `work` useless rounds
struct Table { float bias; float* const* rows; };
PARAMS(slow_scale, 4, 0, 8, 8, 8, 16, 4, 24, 16);
void slow_scale(void** params, const unsigned* grid) {
    const float* x = *(const float**)params[0];
    float* y = *(float**)params[1];
    int n = *(int*)params[2];
    struct Table* t = params[3];
    for (volatile int round = 0; round < ROUNDS; ++round)
        for (int i = 0; i < n; ++i) y[i] = (float)global_factor * x[i] + t->rows[i % 2][0] + ADDED;
    (void)grid;
}

PARAMS(in_place, 2, 0, 8, 8, 4);
void in_place(void** params, const unsigned* grid) {
    float* x = *(float**)params[0];
    for (int i = 0; i < *(int*)params[1]; ++i) x[i] = x[i] * 0.5f + 1;
    (void)grid;
}

// does not repeat itself: it counts its launches
PARAMS(counting, 1, 0, 8);
void counting(void** params, const unsigned* grid) {
    **(int**)params[0] = ++global_calls;
    (void)grid;
}

// waits for another kernel, which PRETEND_PARTNER says to be there: without it, it never ends
PARAMS(waiting, 1, 0, 8);
void waiting(void** params, const unsigned* grid) {
    **(int**)params[0] += 1;
    (void)grid;
}

// y[0] = the first value of what a handle of the process stands for, as a texture's does
PARAMS(sampling, 2, 0, 8, 8, 8);
void sampling(void** params, const unsigned* grid) {
    **(float**)params[0] = ***(float***)params[1];
    (void)grid;
}

// y[i] = a * x[i] * global_factor: the instance for float of a template, named as nvcc names it
#define SCALED "_Z6scaledIfEvPKT_PS0_iS0_"
extern const unsigned long scaled_params[] __asm__(SCALED "_params");
PARAMS(scaled, 4, 0, 8, 8, 8, 16, 4, 20, 4);
void scaled(void** params, const unsigned* grid) __asm__(SCALED);
void scaled(void** params, const unsigned* grid) {
    const float* x = *(const float**)params[0];
    float* y = *(float**)params[1];
    for (int i = 0; i < *(int*)params[2]; ++i) y[i] = *(float*)params[3] * x[i] * (float)global_factor;
    (void)grid;
}
