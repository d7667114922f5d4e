// What kernels compiled for the host (device_shim.h) ask of the runtime that runs them.
#pragma once
#include <cstddef>
#include <cstdint>

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

namespace pretend {

enum Error {  // of CUresult
    ILLEGAL_ADDRESS = 700, ASSERT = 710, MISALIGNED = 716, INVALID_PC = 718, LAUNCH_FAILED = 719
};

struct Here {  // where a thread of the device is
    uint3 thread, block;
    dim3 block_dim, grid_dim;
    unsigned lane, warp;
};
extern __attribute__((tls_model("initial-exec"))) thread_local Here* here;

struct Votes {
    unsigned yes, of;
};
enum Collective { SHUFFLE, BALLOT, MATCH };

Votes barrier(bool value);  // of the block; what its living threads voted
// Of the lanes in `mask`. SHUFFLE: the value of lane `from`; BALLOT: a bit for each lane whose value
// is not 0; MATCH: one for each lane of equal value.
uint64_t collective(Collective kind, unsigned mask, uint64_t value, unsigned from);
void grid_barrier();               // of a cooperative launch
[[noreturn]] void fail(int code);  // the launch breaks with this CUresult
[[noreturn]] void leave();         // the thread returns from its kernel
void pause();                      // other threads of the block may run
void* dynamic_shared();
uint64_t nanoseconds();
void sleep(unsigned nanoseconds);

struct Entry {  // a kernel of a twin: its name in the machine code, and how it is called
    const char* name;
    void (*call)(void** params);
    const unsigned* sizes;  // of its parameters, in bytes
    unsigned count;
};
struct Global {
    const char* name;
    void* address;
    uint64_t size;
};

struct Grid {  // one launch
    void (*call)(void**);
    void** params;
    uint3 blocks, threads;
    unsigned shared;
    bool cooperative;
};
int run(const Grid& grid);  // all of it on the calling thread; 0 or the CUresult it broke with

// Runs `work` so that a fault in it does not end the process: 0, or what it broke with.
int guarded(void (*work)(void*), void* data);

}  // namespace pretend
