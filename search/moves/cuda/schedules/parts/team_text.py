"""Device code by which the threads of a row join what each of them has reduced."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....shared.lifted.names import Names

_JOINED = {
    "sum": "v + other",
    "product": "v * other",
    "max": "other > v ? other : v",
    "min": "other < v ? other : v",
}
_NEUTRAL = {"sum": "T(0)", "product": "T(1)", "max": "parts[0]", "min": "parts[0]"}


@dataclass
class Teams:
    """Reductions over the THREADS of a row, under names of their own."""

    names: Names
    _texts: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    _uses: int = 0

    def joined(self, kind: str, threads: str, *values: str, later: bool = False) -> str:
        """A statement after which each thread has the whole row's."""
        key = f"{kind}{' later' if later else ''}"
        if key not in self._texts:
            name = self.names.fresh(f"row_{kind}")
            text = _best(name, kind, later) if kind.startswith("arg") else _plain(name, kind)
            self._texts[key] = name, text
        self._uses += 1
        name = f"{self._texts[key][0]}<{threads}, {self._uses}>"
        if kind.startswith("arg"):
            return f"{name}({', '.join(values)});"
        return f"{values[0]} = {name}({values[0]});"

    def under_maximum(self, factor: str, threads: str, total: str, greatest: str) -> str:
        """The same for a sum of 2^((x - maximum) * factor) and the maximum."""
        key = f"running {factor}"
        if key not in self._texts:
            name = self.names.fresh("row_running")
            self._texts[key] = name, _running(name, factor)
        self._uses += 1
        return f"{self._texts[key][0]}<{threads}, {self._uses}>({total}, {greatest});"

    @property
    def text(self) -> str:
        """The definitions of those that were asked for."""
        return "\n\n".join(text for _, text in self._texts.values())


def _plain(name: str, kind: str) -> str:
    return f"""\
// over the N threads of a row, whole warps; every thread gets it
template <int N, int USE, typename T>  // once a kernel each: no other use touches its parts
__device__ __forceinline__ T {name}(T v) {{
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {{
        const T other = __shfl_xor_sync(0xffffffffu, v, apart);
        v = {_JOINED[kind]};
    }}
    if (N == 32) return v;
    __shared__ T parts[N / 32];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < N / 32 ? parts[threadIdx.x % 32] : {_NEUTRAL[kind]};
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {{
        const T other = __shfl_xor_sync(0xffffffffu, v, apart);
        v = {_JOINED[kind]};
    }}
    return v;
}}"""


def _best(name: str, kind: str, later: bool) -> str:
    """Of equal values the first place counts, or the last."""
    sign, order = (">" if kind == "argmax" else "<"), (">" if later else "<")
    step = f"""\
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {{
        const T other = __shfl_xor_sync(0xffffffffu, v, apart);
        const P there = __shfl_xor_sync(0xffffffffu, place, apart);
        if (other {sign} v || (other == v && there {order} place)) {{
            v = other;
            place = there;
        }}
    }}"""
    return f"""\
// the extreme over the N threads of a row, whole warps, and its place; every thread gets both
template <int N, int USE, typename T, typename P>  // once a kernel each, with parts of its own
__device__ __forceinline__ void {name}(T& v, P& place) {{
{step}
    if (N == 32) return;
    __shared__ T parts[N / 32];
    __shared__ P places[N / 32];
    if (threadIdx.x % 32 == 0) {{
        parts[threadIdx.x / 32] = v;
        places[threadIdx.x / 32] = place;
    }}
    __syncthreads();
    v = parts[threadIdx.x % (N / 32)];
    place = places[threadIdx.x % (N / 32)];
{step}
}}"""


def _running(name: str, factor: str) -> str:
    """Where maxima are equal, infinite ones too, nothing is scaled."""
    power = f"exp2((%s - most){factor and f' * {factor}'})"
    step = f"""\
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {{
        const T other = __shfl_xor_sync(0xffffffffu, greatest, apart);
        const T there = __shfl_xor_sync(0xffffffffu, total, apart);
        const T most = other > greatest ? other : greatest;
        total = total * (greatest == most ? T(1) : {power % "greatest"}) +
                there * (other == most ? T(1) : {power % "other"});
        greatest = most;
    }}"""
    return f"""\
// a sum of powers under a maximum, and that, over the N threads of a row; every thread gets both
template <int N, int USE, typename T>  // once a kernel each, with parts of its own
__device__ __forceinline__ void {name}(T& total, T& greatest) {{
{step}
    if (N == 32) return;
    __shared__ T totals[N / 32];
    __shared__ T parts[N / 32];
    if (threadIdx.x % 32 == 0) {{
        totals[threadIdx.x / 32] = total;
        parts[threadIdx.x / 32] = greatest;
    }}
    __syncthreads();
    total = threadIdx.x % 32 < N / 32 ? totals[threadIdx.x % 32] : T(0);
    greatest = parts[threadIdx.x % (N / 32)];
{step}
}}"""
