// CUDA C++ device code as C++ of the host, so far as the tests' kernels use it.
//
// Included before every rewritten source (twins.py). What is not here does not compile, which is
// better than something that behaves otherwise than on a GPU.
#pragma once
#include "../runtime/pretend.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <utility>

#define __CUDA_ARCH__ 900
#define __CUDACC__ 1
#define __global__ __attribute__((noinline, used))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static thread_local  // a thread of the host runs whole blocks
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

#define threadIdx (pretend::here->thread)
#define blockIdx (pretend::here->block)
#define blockDim (pretend::here->block_dim)
#define gridDim (pretend::here->grid_dim)
constexpr int warpSize = 32;

// Vectors

using uint = unsigned int;
using ushort = unsigned short;
using uchar = unsigned char;

#define PRETEND_VECTORS(T, name, a1, a2, a4)                                             \
    struct name##1 { T x; };                                                             \
    struct alignas(a2) name##2 { T x, y; };                                              \
    struct alignas(a4) name##4 { T x, y, z, w; };                                        \
    inline name##1 make_##name##1(T x) { return {x}; }                                   \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                           \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define PRETEND_THREES(T, name)   \
    struct name##3 { T x, y, z; }; \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
PRETEND_VECTORS(signed char, char, 1, 2, 4)
PRETEND_VECTORS(unsigned char, uchar, 1, 2, 4)
PRETEND_VECTORS(short, short, 2, 4, 8)
PRETEND_VECTORS(unsigned short, ushort, 2, 4, 8)
PRETEND_VECTORS(int, int, 4, 8, 16)
PRETEND_VECTORS(unsigned int, uint, 4, 8, 16)
PRETEND_VECTORS(long, long, 8, 16, 16)
PRETEND_VECTORS(unsigned long, ulong, 8, 16, 16)
PRETEND_VECTORS(long long, longlong, 8, 16, 16)
PRETEND_VECTORS(unsigned long long, ulonglong, 8, 16, 16)
PRETEND_VECTORS(float, float, 4, 8, 16)
PRETEND_VECTORS(double, double, 8, 16, 16)
PRETEND_THREES(signed char, char)
PRETEND_THREES(unsigned char, uchar)
PRETEND_THREES(short, short)
PRETEND_THREES(unsigned short, ushort)
PRETEND_THREES(int, int)
PRETEND_THREES(float, float)
PRETEND_THREES(double, double)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// Blocks, warps, memory order

inline void __syncthreads() { pretend::barrier(false); }
inline int __syncthreads_count(int yes) { return static_cast<int>(pretend::barrier(yes != 0).yes); }
inline int __syncthreads_or(int yes) { return pretend::barrier(yes != 0).yes != 0; }
inline int __syncthreads_and(int yes) {
    pretend::Votes all = pretend::barrier(yes != 0);
    return all.yes == all.of;
}
inline void __syncwarp(unsigned mask = ~0u) { pretend::collective(pretend::BALLOT, mask, 0, 0); }
inline void __threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_system() {}
inline unsigned __activemask() { return 1u << pretend::here->lane; }  // others may be elsewhere
inline unsigned __lanemask_lt() { return (1u << pretend::here->lane) - 1; }
inline unsigned __ballot_sync(unsigned mask, int yes) {
    return static_cast<unsigned>(pretend::collective(pretend::BALLOT, mask, yes != 0, 0));
}
inline int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }
inline int __all_sync(unsigned mask, int yes) { return __ballot_sync(mask, !yes) == 0; }

namespace pretend {

template <class T>
T shuffle(unsigned mask, T value, int from, int width) {
    static_assert(sizeof(T) <= 8, "a shuffle of up to 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    unsigned lane = here->lane, first = lane / static_cast<unsigned>(width) * width;
    bool within = from >= static_cast<int>(first) && from < static_cast<int>(first) + width;
    bits = collective(SHUFFLE, mask, bits, within ? static_cast<unsigned>(from) : lane);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T>
unsigned match(unsigned mask, T value) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return static_cast<unsigned>(collective(MATCH, mask, bits, 0));
}

}  // namespace pretend

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    int lane = static_cast<int>(pretend::here->lane);
    return pretend::shuffle(mask, value, lane / width * width + (from & (width - 1)), width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
    return pretend::shuffle(mask, value, static_cast<int>(pretend::here->lane + by), width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
    return pretend::shuffle(mask, value, static_cast<int>(pretend::here->lane) - static_cast<int>(by), width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
    return pretend::shuffle(mask, value, static_cast<int>(pretend::here->lane) ^ with, width);
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value) { return pretend::match(mask, value); }

namespace pretend {

template <class T, class F>
T reduced(unsigned mask, T value, F with) {
    unsigned lane = here->lane;
    T all = value;
    for (unsigned l = 0; l < 32; ++l) {
        if (!(mask >> l & 1)) continue;
        T other = __shfl_sync(mask, value, static_cast<int>(l));
        if (l != lane) all = with(all, other);
    }
    return all;
}

}  // namespace pretend

inline unsigned __reduce_add_sync(unsigned m, unsigned v) {
    return pretend::reduced(m, v, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __reduce_max_sync(unsigned m, unsigned v) {
    return pretend::reduced(m, v, [](unsigned a, unsigned b) { return a > b ? a : b; });
}
inline unsigned __reduce_min_sync(unsigned m, unsigned v) {
    return pretend::reduced(m, v, [](unsigned a, unsigned b) { return a < b ? a : b; });
}

// Clocks, ends

inline long long clock64() { return static_cast<long long>(pretend::nanoseconds()); }
#define clock() (static_cast<int>(pretend::nanoseconds()))
inline unsigned long long globaltimer() { return pretend::nanoseconds(); }
inline void __nanosleep(unsigned span) { pretend::sleep(span); }
[[noreturn]] inline void __trap() { pretend::fail(pretend::LAUNCH_FAILED); }
inline void __brkpt() { pretend::fail(pretend::LAUNCH_FAILED); }
[[noreturn]] inline void pretend_exit() { pretend::leave(); }

#undef assert
#define assert(holds) ((holds) ? (void)0 : pretend::fail(pretend::ASSERT))

// Memory

#define PRETEND_LOAD(name) \
    template <class T>     \
    T name(const T* at) { return *at; }
PRETEND_LOAD(__ldg)
PRETEND_LOAD(__ldcg)
PRETEND_LOAD(__ldca)
PRETEND_LOAD(__ldcs)
PRETEND_LOAD(__ldcv)
PRETEND_LOAD(__ldlu)
#define PRETEND_STORE(name) \
    template <class T>      \
    void name(T* at, std::common_type_t<T> value) { *at = value; }
PRETEND_STORE(__stcg)
PRETEND_STORE(__stcs)
PRETEND_STORE(__stwb)
PRETEND_STORE(__stwt)

template <class T>
T atomicCAS(T* at, std::common_type_t<T> expected, std::common_type_t<T> value) {
    __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    pretend::pause();  // whoever waits for another thread of the block asks so
    return expected;
}
template <class T>
T atomicExch(T* at, std::common_type_t<T> value) {
    T before;
    __atomic_exchange(at, &value, &before, __ATOMIC_SEQ_CST);
    pretend::pause();
    return before;
}

namespace pretend {

template <class T, class F>
T atomically(T* at, F change) {
    T before, after;
    __atomic_load(at, &before, __ATOMIC_SEQ_CST);
    do after = change(before);
    while (!__atomic_compare_exchange(at, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return before;
}

}  // namespace pretend

#define PRETEND_ATOMIC(name, result)                             \
    template <class T>                                           \
    T name(T* at, std::common_type_t<T> value) {                 \
        return pretend::atomically(at, [value](T old) -> T { return result; }); \
    }
PRETEND_ATOMIC(atomicAdd, old + value)
PRETEND_ATOMIC(atomicSub, old - value)
PRETEND_ATOMIC(atomicMax, old < value ? value : old)
PRETEND_ATOMIC(atomicMin, value < old ? value : old)
PRETEND_ATOMIC(atomicAnd, old & value)
PRETEND_ATOMIC(atomicOr, old | value)
PRETEND_ATOMIC(atomicXor, old ^ value)
PRETEND_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
PRETEND_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

// Numbers

#define PRETEND_MIN_MAX(T)                                \
    inline T min(T a, T b) { return b < a ? b : a; }      \
    inline T max(T a, T b) { return a < b ? b : a; }
PRETEND_MIN_MAX(int)
PRETEND_MIN_MAX(unsigned)
PRETEND_MIN_MAX(long)
PRETEND_MIN_MAX(unsigned long)
PRETEND_MIN_MAX(long long)
PRETEND_MIN_MAX(unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
inline float fdividef(float x, float y) { return x / y; }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

inline int __dp4a(int a, int b, int sum) {
    for (int byte = 0; byte < 4; ++byte) sum += (signed char)(a >> 8 * byte) * (signed char)(b >> 8 * byte);
    return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (int byte = 0; byte < 4; ++byte) sum += (a >> 8 * byte & 255u) * (b >> 8 * byte & 255u);
    return sum;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(uint64_t(x) * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return static_cast<unsigned>(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
}

namespace pretend {

template <class To, class From>
To bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    __builtin_memcpy(&result, &value, sizeof(To));
    return result;
}

}  // namespace pretend

inline int __float_as_int(float x) { return pretend::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return pretend::bits<unsigned>(x); }
inline float __int_as_float(int x) { return pretend::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return pretend::bits<float>(x); }
inline long long __double_as_longlong(double x) { return pretend::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return pretend::bits<double>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(nearbyintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

// How a twin tells its kernels: parameters come as pointers to their bytes.

namespace pretend {

template <class... A, size_t... I>
void apply(void (*kernel)(A...), void** params, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<A>>*>(params[I])...);
}
template <class... A>
void apply(void (*kernel)(A...), void** params) {
    apply(kernel, params, std::index_sequence_for<A...>{});
}
template <class F>
struct Sizes;
template <class... A>
struct Sizes<void (*)(A...)> {
    static constexpr unsigned count = sizeof...(A);
    static constexpr unsigned values[count + 1] = {sizeof(A)..., 0};
};

}  // namespace pretend

#define PRETEND_ENTRY(name, kernel)                                     \
    {name, [](void** params) { pretend::apply(kernel, params); },       \
     pretend::Sizes<decltype(kernel)>::values, pretend::Sizes<decltype(kernel)>::count}
