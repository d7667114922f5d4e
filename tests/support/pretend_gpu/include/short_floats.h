// What both types of 16 bits have in common: values are computed in float and rounded, as CUDA's are.
#pragma once
#include "device_shim.h"

namespace pretend {
// `Kept` holds 16 bits and goes to and from float
template <class Kept>
struct Short {
    Kept kept;
    Short() = default;
    Short(float v) : kept(v) {}
    Short(double v) : kept(static_cast<float>(v)) {}
    Short(int v) : kept(static_cast<float>(v)) {}
    operator float() const { return kept; }
    Short& operator+=(Short o) { return *this = Short(float(*this) + float(o)); }
    Short& operator*=(Short o) { return *this = Short(float(*this) * float(o)); }
};
template <class K> Short<K> operator+(Short<K> a, Short<K> b) { return float(a) + float(b); }
template <class K> Short<K> operator-(Short<K> a, Short<K> b) { return float(a) - float(b); }
template <class K> Short<K> operator*(Short<K> a, Short<K> b) { return float(a) * float(b); }
template <class K> Short<K> operator/(Short<K> a, Short<K> b) { return float(a) / float(b); }
template <class K> Short<K> operator-(Short<K> a) { return -float(a); }
template <class K> bool operator<(Short<K> a, Short<K> b) { return float(a) < float(b); }
template <class K> bool operator>(Short<K> a, Short<K> b) { return float(a) > float(b); }
template <class K> bool operator==(Short<K> a, Short<K> b) { return float(a) == float(b); }
template <class K> Short<K> __hadd(Short<K> a, Short<K> b) { return a + b; }
template <class K> Short<K> __hsub(Short<K> a, Short<K> b) { return a - b; }
template <class K> Short<K> __hmul(Short<K> a, Short<K> b) { return a * b; }
template <class K> Short<K> __hmax(Short<K> a, Short<K> b) { return fmaxf(a, b); }
template <class K> Short<K> __hmin(Short<K> a, Short<K> b) { return fminf(a, b); }
template <class K> Short<K> __habs(Short<K> a) { return fabsf(a); }
template <class K> Short<K> __hfma(Short<K> a, Short<K> b, Short<K> c) {
    return float(double(a) * double(b) + double(c));
}
template <class K> bool __hgt(Short<K> a, Short<K> b) { return a > b; }
template <class K> Short<K> hexp(Short<K> a) { return expf(a); }

template <class K>
struct alignas(4) Pair {
    Short<K> x, y;
};
template <class K> Pair<K> __hadd2(Pair<K> a, Pair<K> b) { return {a.x + b.x, a.y + b.y}; }
template <class K> Pair<K> __hmul2(Pair<K> a, Pair<K> b) { return {a.x * b.x, a.y * b.y}; }
template <class K> Pair<K> __hfma2(Pair<K> a, Pair<K> b, Pair<K> c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
}  // namespace pretend
