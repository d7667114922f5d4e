"""What an opcode does: its phase, the bytes it moves, its FLOPs, what it waits for.

One row of ROWS a kind of instruction; the first row that fits an opcode says it. All numbers are
those of one thread, or a thread's share of what a warp (32) or warpgroup (128 threads) does
together. Sources: PTX ISA 9.0, sections 9.7.1 to 9.7.16; FLOPs as Nsight Compute counts them (an
FMA is two, comparing and converting is none), a special function as one.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

WARP, WARPGROUP = 32, 128


class Phase(StrEnum):
    """What kind of work an instruction belongs to."""

    global_load = "global_load"
    global_store = "global_store"
    shared = "shared"
    local = "local"  # memory of one thread: spilled registers, arrays that are indexed
    async_copy = "async_copy"
    compute = "compute"  # floating point
    tensor = "tensor"
    special = "special"
    exchange = "exchange"  # between the threads of a warp
    atomic = "atomic"
    sync = "sync"
    address = "address"  # integers, moves, predicates, parameters, branches
    call = "call"


class Row(NamedTuple):
    """One kind of instruction: opcodes that begin with `name` and hold all of `parts`."""

    name: str
    phase: Phase
    parts: tuple[str, ...] = ()
    reads: str = ""
    """the space of memory that it reads; "generic": an address says which"""
    writes: str = ""
    operation: str = ""
    """how it computes: fma, add, mul, special, tensor"""
    waits: str = ""
    """a strong synchronisation, before which a stage ends: for whom or what it waits"""
    starts: str = ""
    """the kind of asynchronous work that it issues"""
    commits: str = ""
    """the kind of asynchronous work that it closes into a group"""
    result: bool = True
    """whether its first operand is written; one in brackets never is"""
    together: int = 1
    """threads that execute it as one, sharing its bytes and FLOPs"""


class Effect(NamedTuple):
    """What one opcode does, for one thread."""

    row: Row
    nbytes: int | None
    """bytes that it moves; None: an operand says, or a tensor map does (`work.py`)"""
    kind: str
    """of its FLOPs: "fma.f32", "tensor.f16.m16n8k16", "special"; "" for none"""
    flops: int
    phase: Phase
    """that of its row"""


P = Phase
ROWS = (
    # memory: what is known not to be global comes first
    Row("ld.param", P.address),
    Row("st.param", P.address),
    Row("ld.const", P.address),
    Row("ld.shared", P.shared, reads="shared"),
    Row("st.shared", P.shared, writes="shared"),
    Row("ld.volatile", P.shared, ("shared",), reads="shared"),
    Row("st.volatile", P.shared, ("shared",), writes="shared"),
    Row("ld", P.shared, ("shared",), reads="shared"),
    Row("st", P.shared, ("shared",), writes="shared"),
    Row("ld", P.local, ("local",), reads="local"),
    Row("st", P.local, ("local",), writes="local"),
    Row("ld", P.global_load, ("global",), reads="global"),
    Row("st", P.global_store, ("global",), writes="global"),
    Row("ldu", P.global_load, reads="global"),
    Row("ld", P.global_load, reads="generic"),
    Row("st", P.global_store, writes="generic"),
    Row("tex", P.global_load, reads="global"),
    Row("tld4", P.global_load, reads="global"),
    Row("suld", P.global_load, reads="global"),
    Row("sust", P.global_store, writes="global"),
    Row("prefetch", P.global_load),
    Row("prefetchu", P.global_load),
    Row("ldmatrix", P.shared, reads="shared", together=WARP),
    Row("stmatrix", P.shared, writes="shared", together=WARP),
    Row("movmatrix", P.exchange, together=WARP),
    Row("multimem.ld_reduce", P.global_load, reads="global"),
    Row("multimem.st", P.global_store, writes="global"),
    Row("multimem.red", P.atomic, writes="global"),
    Row("atom", P.atomic, ("shared",), reads="shared", writes="shared"),
    Row("red", P.atomic, ("shared",), writes="shared"),
    Row("atom", P.atomic, reads="global", writes="global"),
    Row("red", P.atomic, writes="global"),
    # asynchronous copies
    Row("cp.async.wait_group", P.sync, waits="cp_async", result=False),
    Row("cp.async.wait_all", P.sync, waits="cp_async", result=False),
    Row("cp.async.commit_group", P.async_copy, commits="cp_async", result=False),
    Row("cp.async.mbarrier", P.sync, result=False),
    Row("cp.async.bulk.wait_group", P.sync, waits="bulk", result=False),
    Row("cp.async.bulk.commit_group", P.async_copy, commits="bulk", result=False),
    Row("cp.async.bulk.prefetch", P.async_copy),
    Row("cp.async.bulk", P.async_copy, ("bulk_group",), "shared", "global", starts="bulk"),
    Row("cp.async.bulk", P.async_copy, ("shared", "global"), "global", "shared", starts="mbarrier"),
    Row("cp.async.bulk", P.async_copy, (), "shared", "shared", starts="mbarrier"),
    Row("cp.reduce.async.bulk", P.async_copy, (), "shared", "global", starts="bulk"),
    Row("cp.async", P.async_copy, reads="global", writes="shared", starts="cp_async"),
    Row("st.async", P.shared, writes="shared", starts="mbarrier"),
    Row("red.async", P.atomic, writes="shared", starts="mbarrier"),
    # tensor cores
    Row("mma", P.tensor, operation="tensor", together=WARP),
    Row("wmma.mma", P.tensor, operation="tensor", together=WARP),
    Row("wmma.load", P.shared, ("shared",), reads="shared", together=WARP),
    Row("wmma.load", P.global_load, ("global",), reads="global", together=WARP),
    Row("wmma.load", P.global_load, reads="generic", together=WARP),
    Row("wmma.store", P.shared, ("shared",), writes="shared", together=WARP),
    Row("wmma.store", P.global_store, ("global",), writes="global", together=WARP),
    Row("wmma.store", P.global_store, writes="generic", together=WARP),
    Row("wgmma.mma_async", P.tensor, (), "", "", "tensor", starts="wgmma", together=WARPGROUP),
    Row("wgmma.wait_group", P.sync, waits="wgmma", result=False),
    Row("wgmma.commit_group", P.tensor, commits="wgmma", result=False),
    Row("wgmma.fence", P.tensor, result=False),
    Row("tcgen05.wait", P.sync, waits="tcgen05", result=False),
    Row("tcgen05.fence", P.sync, result=False),
    Row("tcgen05.commit", P.tensor, commits="tcgen05"),
    Row("tcgen05", P.tensor, starts="tcgen05"),
    # synchronisation
    Row("bar.warp", P.sync, result=False),
    Row("bar.arrive", P.sync, result=False),
    Row("bar.red", P.sync, waits="cta"),
    Row("bar", P.sync, waits="cta", result=False),
    Row("barrier.cluster.arrive", P.sync, result=False),
    Row("barrier.cluster.wait", P.sync, waits="cluster", result=False),
    Row("barrier", P.sync, ("arrive",), result=False),
    Row("barrier", P.sync, ("red",), waits="cta"),
    Row("barrier", P.sync, waits="cta", result=False),
    Row("mbarrier.try_wait", P.sync, waits="mbarrier"),
    Row("mbarrier.test_wait", P.sync, waits="mbarrier"),
    Row("mbarrier", P.sync),
    Row("fence.mbarrier_init", P.sync, waits="fence", result=False),
    Row("fence", P.sync, waits="fence", result=False),
    Row("membar", P.sync, waits="fence", result=False),
    Row("griddepcontrol.wait", P.sync, waits="grid", result=False),
    Row("griddepcontrol", P.sync, result=False),
    Row("nanosleep", P.sync, result=False),
    # between the threads of a warp
    Row("shfl", P.exchange),
    Row("vote", P.exchange),
    Row("match", P.exchange),
    Row("redux", P.exchange),
    Row("elect", P.exchange),
    Row("activemask", P.exchange),
    # floating point
    *(Row(name, P.special, operation="special") for name in ("sin", "cos", "lg2", "ex2", "tanh")),
    *(Row(name, P.special, ("f32",), operation="special") for name in ("div", "sqrt")),
    *(Row(name, P.special, ("f64",), operation="special") for name in ("div", "sqrt")),
    *(Row(name, P.special, operation="special") for name in ("rcp", "rsqrt")),
    *(Row(name, P.compute, operation="fma") for name in ("fma", "mad.rn", "mad.rz")),
    # control; what is called is not counted here
    Row("call", P.call, result=False),
    *(Row(name, P.address, result=False) for name in ("bra", "brx", "ret", "exit", "trap")),
    *(Row(name, P.address, result=False) for name in ("brkpt", "pmevent", "setmaxnreg")),
    Row("stackrestore", P.address, result=False),
)
FLOATING = (
    *(Row(name, P.compute, operation="add") for name in ("add", "sub")),
    Row("mul", P.compute, operation="mul"),
    Row("mad", P.compute, operation="fma"),
    *(Row(name, P.compute) for name in ("max", "min", "neg", "abs", "copysign", "testp")),
    *(Row(name, P.compute) for name in ("set", "setp", "selp", "slct", "cvt")),
)
"""rows for an opcode with a floating-point type among its parts"""
OTHER = Row("", P.address)

_SIZES = {"x2": 2, "x4": 4}
_TYPE = re.compile(r"(?:b|u|s|f|bf|tf|e\dm)(\d{1,4})(x\d)?(?:_\w+)?$")
_FLOAT = re.compile(r"(?:f16|f32|f64|bf16|tf32|e\dm\d)(?:x\d)?$")
_SHAPE = re.compile(r"m(\d{1,4})n(\d{1,4})k(\d{1,4})$")
_SINGLE = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}
_WORK = {"fma": 2, "add": 1, "mul": 1, "special": 1}


@lru_cache(maxsize=4096)
def effect(opcode: str) -> Effect:
    """What an opcode does; one that no row knows counts as integer arithmetic."""
    whole = opcode.split(".")
    parts = {part.partition("::")[0] for part in whole[1:]}
    row = _row(opcode, parts)
    types = [part for part in whole[1:] if _TYPE.match(part)]
    if row.operation == "tensor":
        return _tensor(row, whole, types)
    kind, flops = "", 0
    if row.operation:
        type_ = next((each for each in reversed(types) if _FLOAT.match(each)), "f32")
        single = _SINGLE.get(type_, type_)
        kind = "special" if row.operation == "special" else f"{row.operation}.{single}"
        flops = _WORK[row.operation] * (1 if single == type_ else 2)
    return Effect(row, _bytes(row, whole, types), kind, flops, row.phase)


def _row(opcode: str, parts: set[str]) -> Row:
    dotted = f"{opcode}."
    rows = ROWS
    if any(_FLOAT.match(part) for part in parts):
        rows = (*ROWS, *FLOATING)
    for row in rows:
        if dotted.startswith(f"{row.name}.") and parts.issuperset(row.parts):
            return row
    return OTHER


def _bits(type_: str) -> int:
    found = _TYPE.match(type_)
    if found is None:
        return 0
    if type_.startswith("e"):
        return 8 * (2 if found[2] else 1)
    return int(found[1]) * (int(found[2][1:]) if found[2] else 1)


def _bytes(row: Row, whole: list[str], types: list[str]) -> int | None:
    if not (row.reads or row.writes):
        return 0
    if row.phase is Phase.async_copy:
        return None
    if row.together == WARP:
        return _warp_bytes(whole)
    # a vector of v2, v4 or v8 elements of the last type; of a texture, of the type that it gives
    element = types[0] if whole[0] in ("tex", "tld4") and types else types[-1] if types else "b32"
    length = next((int(part[1:]) for part in whole if part in ("v2", "v4", "v8")), 1)
    return length * _bits(element) // 8


def _warp_bytes(whole: list[str]) -> int:
    """A thread's share of the matrices that a warp moves."""
    found = next((m for part in whole if (m := _SHAPE.match(part))), None)
    if found is not None:  # wmma: fragment a is m x k, b is k x n, c and d are m x n
        m, n, k = map(int, found.groups())
        elements = {"a": m * k, "b": k * n}.get(whole[2], m * n)
        return elements * _bits(whole[-1]) // 8 // WARP
    matrices = next((int(part[1:]) for part in whole if part in ("x1", "x2", "x4")), 1)
    nbytes = {"m8n8": 128, "m16n16": 256, "m8n16": 128, "m16n8": 128}
    return matrices * next((nbytes[part] for part in whole if part in nbytes), 128) // WARP


def _tensor(row: Row, whole: list[str], types: list[str]) -> Effect:
    """2 M N K, of a sparse matrix as if it were dense; the kind names the type of the factors."""
    found = next(((m, part) for part in whole if (m := _SHAPE.match(part))), None)
    if found is None:
        return Effect(row, 0, "tensor", 0, row.phase)
    m, n, k = map(int, found[0].groups())
    factor = types[1] if len(types) > 2 else "f16"  # d, a, b[, c]; wmma of halves says d and c
    flops = 2 * m * n * k // row.together
    return Effect(row, 0, f"tensor.{factor}.{found[1]}", flops, row.phase)
