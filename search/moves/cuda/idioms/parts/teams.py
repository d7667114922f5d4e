"""Who works on a row together: a warp, or a block; and how it reduces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .reductions import Kind, Reduction

WARP = 32


@dataclass(frozen=True)
class Team:
    """The threads of one row, as texts of CUDA and of the plan."""

    row: str
    """the row's number"""
    lane: str
    """a thread's number in its team"""
    threads: str
    """how many there are"""
    grid: str
    """blocks for `{rows}`"""
    whole_block: bool

    def reduced(
        self, reductions: Sequence[Reduction], before: Sequence[Reduction] = ()
    ) -> tuple[str, ...]:
        """The statements by which each thread gets the whole team's values, once a kernel.

        `before`: what the kernel reduces before that.
        """
        kinds = [r.kind for r in before]
        return tuple(
            self._reduced(r, (kinds + [r.kind for r in reductions[:at]]).count(r.kind))
            for at, r in enumerate(reductions)
        )

    def _reduced(self, reduction: Reduction, use: int) -> str:
        name = f"{'block' if self.whole_block else 'warp'}_{reduction.kind}"
        if self.whole_block and use:
            name += f"<{use}>"
        if reduction.place:
            return f"{name}({reduction.name}, {reduction.place});"
        return f"{reduction.name} = {name}({reduction.name});"

    def helpers(self, reductions: Iterable[Reduction]) -> str:
        """Device functions for these reductions, each once."""
        kinds: tuple[Kind, ...] = tuple(dict.fromkeys(r.kind for r in reductions))
        pieces = [_warp(kind) for kind in kinds]
        if self.whole_block:
            pieces += [_block(kind) for kind in kinds]
        return "\n\n".join(pieces)


WARP_TEAM = Team(
    row="blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32",
    lane="threadIdx.x % 32",
    threads="32",
    grid="cdiv({rows}, block_x // 32)",
    whole_block=False,
)
BLOCK_TEAM = Team("blockIdx.x", "threadIdx.x", "blockDim.x", "{rows}", True)

_JOINED: dict[Kind, str] = {
    "sum": "v + other",
    "max": "max(v, other)",
    "min": "min(v, other)",
    "greatest": "other > v ? other : v",
    "least": "other < v ? other : v",
}


def _warp(kind: Kind) -> str:
    if kind in _JOINED:
        return f"""\
// over the lanes of a warp; every lane gets it
template <typename T>
__device__ __forceinline__ T warp_{kind}(T v) {{
    for (int apart = 16; apart > 0; apart /= 2) {{
        const T other = __shfl_xor_sync(0xffffffffu, v, apart);
        v = {_JOINED[kind]};
    }}
    return v;
}}"""
    compared = ">" if kind == "first_greatest" else "<"
    return f"""\
// the extreme over the lanes of a warp and its first place; every lane gets both
template <typename T, typename Place>
__device__ __forceinline__ void warp_{kind}(T& v, Place& place) {{
    for (int apart = 16; apart > 0; apart /= 2) {{
        const T other = __shfl_xor_sync(0xffffffffu, v, apart);
        const Place there = __shfl_xor_sync(0xffffffffu, place, apart);
        if (other {compared} v || (other == v && there < place)) {{
            v = other;
            place = there;
        }}
    }}
}}"""


def _block(kind: Kind) -> str:
    """Warps first, then their results, which every warp reduces for itself: one barrier.

    Another use has another instance of the template, and its shared memory is its own: nobody has
    to wait until the parts of an earlier one have been read.
    """
    if kind in _JOINED:
        # a sum takes each warp's part once; an extreme may take the first one's again
        rest = "T(0)" if kind == "sum" else "parts[0]"
        return f"""\
// over the threads of a block of whole warps; every thread gets it
template <int USE = 0, typename T>  // once a kernel each: no other use touches its parts
__device__ __forceinline__ T block_{kind}(T v) {{
    __shared__ T parts[32];
    v = warp_{kind}(v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_{kind}(threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : {rest});
}}"""
    return f"""\
// over the threads of a block of whole warps; every thread gets both
template <int USE = 0, typename T, typename Place>  // once a kernel each, with parts of its own
__device__ __forceinline__ void block_{kind}(T& v, Place& place) {{
    __shared__ T parts[32];
    __shared__ Place places[32];
    warp_{kind}(v, place);
    if (threadIdx.x % 32 == 0) {{
        parts[threadIdx.x / 32] = v;
        places[threadIdx.x / 32] = place;
    }}
    __syncthreads();
    const int from = threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0;
    v = parts[from];
    place = places[from];
    warp_{kind}(v, place);
}}"""
