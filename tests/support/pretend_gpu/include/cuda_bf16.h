#pragma once
#include "short_floats.h"

namespace pretend {
struct KeptBrain {
    unsigned short bits;
    KeptBrain() = default;
    KeptBrain(float v) {
        unsigned all;
        __builtin_memcpy(&all, &v, 4);
        bits = v != v ? 0x7fff : (all + 0x7fff + (all >> 16 & 1)) >> 16;  // ties to even
    }
    operator float() const {
        unsigned all = static_cast<unsigned>(bits) << 16;
        float v;
        __builtin_memcpy(&v, &all, 4);
        return v;
    }
};
}  // namespace pretend
using __nv_bfloat16 = pretend::Short<pretend::KeptBrain>;
using __nv_bfloat162 = pretend::Pair<pretend::KeptBrain>;
inline __nv_bfloat16 __float2bfloat16(float v) { return v; }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return v; }
inline float __bfloat162float(__nv_bfloat16 v) { return v; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
