// What kernels use of the standard library, for a compiler that has none (NVRTC): for
// reading what a kernel computes, never for running it. Each standard header that
// plain_ptx.py names includes this one.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
#ifdef KERNELWRIGHT_WITH_TOOLKIT  // whose libcu++ says so
using int64_t = long long;
using uint64_t = unsigned long long;
using intptr_t = long long;
using uintptr_t = unsigned long long;
#else
using int64_t = long;
using uint64_t = unsigned long;
using intptr_t = long;
using uintptr_t = unsigned long;
#endif
using ptrdiff_t = long;
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using ssize_t = long;

#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807L
#define INT64_MIN (-INT64_MAX - 1)
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define M_2_SQRTPI 1.12837916709551257390
#define M_E 2.7182818284590452354
#undef assert
#define assert(holds) ((void)0)

inline int omp_get_thread_num() { return 0; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_max_threads() { return 1; }

// values of bytes that are all one, and copies by bytes, as loops over elements
template <typename T> inline T kernelwright_bytes(int byte) {
    return (T)((unsigned long long)(byte & 255) * 0x0101010101010101ULL);
}
template <> inline float kernelwright_bytes<float>(int byte) {
    return __int_as_float((byte & 255) * 0x01010101);
}
template <> inline double kernelwright_bytes<double>(int byte) {
    return __longlong_as_double((long long)((byte & 255) * 0x0101010101010101LL));
}
template <typename T> inline T* memset(T* to, int byte, size_t bytes) {
    for (size_t n = 0; n < bytes / sizeof(T); ++n) to[n] = kernelwright_bytes<T>(byte);
    return to;
}
template <typename T> inline T* memcpy(T* to, const T* from, size_t bytes) {
    for (size_t n = 0; n < bytes / sizeof(T); ++n) to[n] = from[n];
    return to;
}

namespace std {
using ::memcpy, ::memset;
using ::int16_t, ::int32_t, ::int64_t, ::int8_t, ::intptr_t, ::ptrdiff_t, ::size_t;
using ::uint16_t, ::uint32_t, ::uint64_t, ::uint8_t, ::uintptr_t;
using ::abs, ::fabs, ::sqrt, ::cbrt, ::exp, ::exp2, ::expm1, ::log, ::log2, ::log10, ::log1p;
using ::acos, ::acosh, ::asin, ::asinh, ::atan, ::atan2, ::atanh, ::cos, ::cosh, ::sin, ::sinh;
using ::ceil, ::floor, ::lround, ::nearbyint, ::rint, ::round, ::tan, ::tanh, ::trunc;
using ::copysign, ::erf, ::erfc, ::fma, ::fmod, ::hypot, ::lgamma, ::pow, ::tgamma;
using ::isfinite, ::isinf, ::isnan, ::signbit;
using ::fmax, ::fmin;

template <typename T, typename U> struct is_same { static constexpr bool value = false; };
template <typename T> struct is_same<T, T> { static constexpr bool value = true; };
template <typename T, typename U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <bool Holds, typename T, typename U> struct conditional { using type = T; };
template <typename T, typename U> struct conditional<false, T, U> { using type = U; };
template <bool Holds, typename T, typename U>
using conditional_t = typename conditional<Holds, T, U>::type;
template <typename T, typename U> struct pair { T first; U second; };
template <typename T, typename U> constexpr pair<T, U> make_pair(T one, U other) {
    return {one, other};
}
template <typename T> struct less {
    constexpr bool operator()(const T& a, const T& b) const { return a < b; }
};
template <typename T = void> struct plus {
    constexpr T operator()(const T& a, const T& b) const { return a + b; }
};
template <typename T = void> struct multiplies {
    constexpr T operator()(const T& a, const T& b) const { return a * b; }
};

// values, not references: a choice between two addresses is not read
template <typename T> constexpr T max(T a, T b) { return a < b ? b : a; }
template <typename T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <typename T> constexpr T clamp(T v, T low, T high) {
    return v < low ? low : high < v ? high : v;
}
template <typename T> constexpr void swap(T& a, T& b) {
    T kept = a;
    a = b;
    b = kept;
}
template <typename I, typename T> constexpr void fill(I first, I last, T value) {
    for (; first != last; ++first) *first = value;
}
template <typename I, typename N, typename T>
constexpr I fill_n(I first, N count, T value) {
    for (N n = 0; n < count; ++n) first[n] = value;
    return first + count;
}
template <typename I, typename O> constexpr O copy(I first, I last, O to) {
    for (; first != last; ++first, ++to) *to = *first;
    return to;
}
template <typename I, typename N, typename O> constexpr O copy_n(I first, N count, O to) {
    for (N n = 0; n < count; ++n) to[n] = first[n];
    return to + count;
}
template <typename I, typename O, typename F> constexpr O transform(I first, I last, O to, F f) {
    for (; first != last; ++first, ++to) *to = f(*first);
    return to;
}
template <typename I, typename J, typename O, typename F>
constexpr O transform(I first, I last, J other, O to, F f) {
    for (; first != last; ++first, ++other, ++to) *to = f(*first, *other);
    return to;
}
template <typename I, typename F> constexpr F for_each(I first, I last, F f) {
    for (; first != last; ++first) f(*first);
    return f;
}
template <typename I, typename T> constexpr T accumulate(I first, I last, T value) {
    for (; first != last; ++first) value = value + *first;
    return value;
}
template <typename I, typename T, typename F>
constexpr T accumulate(I first, I last, T value, F f) {
    for (; first != last; ++first) value = f(value, *first);
    return value;
}
template <typename I, typename J, typename T>
constexpr T inner_product(I first, I last, J other, T value) {
    for (; first != last; ++first, ++other) value = value + *first * *other;
    return value;
}
template <typename I> constexpr I max_element(I first, I last) {
    I best = first;
    for (I at = first; at != last; ++at)
        if (*best < *at) best = at;
    return best;
}
template <typename I> constexpr I min_element(I first, I last) {
    I best = first;
    for (I at = first; at != last; ++at)
        if (*at < *best) best = at;
    return best;
}

template <typename T, size_t N> struct array {
    T held[N];
    constexpr T& operator[](size_t n) { return held[n]; }
    constexpr const T& operator[](size_t n) const { return held[n]; }
    constexpr size_t size() const { return N; }
    constexpr T* data() { return held; }
    constexpr const T* data() const { return held; }
    constexpr T* begin() { return held; }
    constexpr T* end() { return held + N; }
    constexpr void fill(const T& value) {
        for (size_t n = 0; n < N; ++n) held[n] = value;
    }
};

template <typename T> struct numeric_limits;
template <> struct numeric_limits<float> {
    static constexpr float max() { return FLT_MAX; }
    static constexpr float min() { return FLT_MIN; }
    static constexpr float lowest() { return -FLT_MAX; }
    static constexpr float epsilon() { return FLT_EPSILON; }
    static float infinity() { return INFINITY; }
    static float quiet_NaN() { return NAN; }
};
template <> struct numeric_limits<double> {
    static constexpr double max() { return DBL_MAX; }
    static constexpr double min() { return DBL_MIN; }
    static constexpr double lowest() { return -DBL_MAX; }
    static constexpr double epsilon() { return DBL_EPSILON; }
    static double infinity() { return HUGE_VAL; }
};
template <> struct numeric_limits<int> {
    static constexpr int max() { return INT_MAX; }
    static constexpr int min() { return INT_MIN; }
    static constexpr int lowest() { return INT_MIN; }
};
template <> struct numeric_limits<long long> {
    static constexpr long long max() { return INT64_MAX; }
    static constexpr long long min() { return INT64_MIN; }
    static constexpr long long lowest() { return INT64_MIN; }
};
template <> struct numeric_limits<long> {
    static constexpr long max() { return INT64_MAX; }
    static constexpr long min() { return INT64_MIN; }
    static constexpr long lowest() { return INT64_MIN; }
};
}  // namespace std
