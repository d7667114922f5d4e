#pragma once
#include "short_floats.h"

namespace pretend {
struct KeptHalf {
    _Float16 value;
    KeptHalf() = default;
    KeptHalf(float v) : value(static_cast<_Float16>(v)) {}
    operator float() const { return static_cast<float>(value); }
};
}  // namespace pretend
using __half = pretend::Short<pretend::KeptHalf>;
using half = __half;
using __half2 = pretend::Pair<pretend::KeptHalf>;
using half2 = __half2;
inline __half __float2half(float v) { return v; }
inline __half __float2half_rn(float v) { return v; }
inline float __half2float(__half v) { return v; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline __half2 __float2half2_rn(float v) { return {v, v}; }
inline __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
inline unsigned short __half_as_ushort(__half v) {
    unsigned short bits;
    __builtin_memcpy(&bits, &v, 2);
    return bits;
}
inline __half __ushort_as_half(unsigned short bits) {
    __half v;
    __builtin_memcpy(&v, &bits, 2);
    return v;
}
