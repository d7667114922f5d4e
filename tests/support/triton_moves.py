"""Kernels that the Triton moves are tried on, as states of a search; chains of moves over them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.specs.spec import Parameter
from kernelwright.search.moves.shared.base import Move, NotApplicable, State
from kernelwright.search.moves.triton import MOVES

ROOT = Path(__file__).parents[2]
BY_ID: Mapping[str, Move] = {move.id: move for move in MOVES}
OPTIONS = {"num_warps": (1, 2, 4, 8, 16), "num_stages": (1, 2, 3, 4, 5)}
START = {"num_warps": 4, "num_stages": 3}

TUTORIAL = '''\
import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    # Pointers to matrices
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,  #
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """C = A B."""
    pid = tl.program_id(axis=0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    pid_m = pid // num_pid_n
    pid_n = pid % num_pid_n
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        # the next tiles of A and B
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        a = a.to(tl.float32)
        b = b.to(tl.float32)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    out_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    out_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * out_m[:, None] + stride_cn * out_n[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(out_m[:, None] < M) & (out_n[None, :] < N))


def matmul(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
    matmul_kernel[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32,
    )
    return c
'''
PRODUCTS = TUTORIAL.replace(
    "acc += tl.dot(a, b)", "acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)"
)
SUM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_add(total, tl.sum(values, axis=0))


def total_of(x):
    n = x.numel()
    total = torch.zeros(1, device=x.device, dtype=torch.float32)
    sum_kernel[(triton.cdiv(n, 1024),)](x, total, n, BLOCK=1024)
    return total
"""


def _json(path: str) -> dict[str, Any]:
    file = ROOT / path
    data = json.loads(file.read_text(encoding="utf-8"))
    source = (file.parent / data["kernel"].pop("source_path")).read_text(encoding="utf-8")
    data["kernel"]["source_code"] = source
    reference = (file.parent / data["reference"]).read_text(encoding="utf-8")
    return data | {"reference": {"source_code": reference}}


def _tutorial(name: str, source: str) -> dict[str, Any]:
    data = _json("benchmarks/kernels/gemm/triton.json")
    kernel = {"source_code": source, "metadata": {"kernel_name": "matmul"}}
    return data | {"name": name, "kernel": data["kernel"] | kernel, "parameters": {}}


def _sum() -> dict[str, Any]:
    x = {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"], "init": "uniform"}
    total = {"name": "total", "role": "output", "dtype": "float32", "shape": [1]}
    return {
        "name": "sum",
        "kernel": {"kernel_type": "triton", "source_code": SUM}
        | {"metadata": {"kernel_name": "total_of"}},
        "io": {"arguments": [x, total], "deterministic": False},
        "symbols": {"n": {"min": 1, "max": 1 << 28}},
        "workloads": [{"name": "main", "symbols": {"n": 1 << 25}}],
        "reference": {"source_code": "def reference(x):\n    return x.sum(keepdims=True)\n"},
    }


def specs() -> dict[str, dict[str, Any]]:
    """Every Triton kernel of benchmarks and examples by name, and some of our own."""
    paths = [*ROOT.glob("benchmarks/kernels/*/triton.json"), *ROOT.glob("examples/triton_*/*.json")]
    found = [_json(str(p.relative_to(ROOT))) for p in sorted(paths)]
    ours = (_tutorial("tutorial", TUTORIAL), _tutorial("products", PRODUCTS), _sum())
    return {d["name"]: d for d in (*found, *ours)}


SPECS = specs()


def state(name: str, source: str | None = None, **changes: Any) -> State:
    """A kernel as a search finds it: warps and stages are parameters that were found."""
    loaded = _loaded(SPECS[name] | changes, Path())
    own = {o: Parameter(values=v, default=START[o]) for o, v in OPTIONS.items()}
    found = {o: p for o, p in own.items() if o not in loaded.spec.parameters}
    spec = loaded.spec.model_copy(update={"parameters": dict(loaded.spec.parameters) | found})
    text = source if source is not None else SPECS[name]["kernel"]["source_code"]
    return State("triton", text, {}, BuildOptions(), spec, found=frozenset(found))


def sized(name: str, **symbols: int) -> State:
    """A kernel whose workloads have these sizes."""
    start = state(name)
    works = tuple(
        w.model_copy(update={"symbols": {**w.symbols, **symbols}}) for w in start.spec.workloads
    )
    return replace(start, spec=start.spec.model_copy(update={"workloads": works}))


def state_of_file(path: str) -> State:
    """A kernel of a spec beneath the repository as it was written, of any language."""
    data = _json(path)
    spec = _loaded(data, Path()).spec
    return State(spec.kernel.kernel_type, data["kernel"]["source_code"], {}, BuildOptions(), spec)


def loaded(name: str, folder: Path, multiple_of: int = 1, **most: int) -> LoadedKernel:
    """The kernel for the builder; with `multiple_of`, of sizes that are multiples alone. `most`:
    how large sizes may be."""
    data = json.loads(json.dumps(SPECS[name]))
    for symbol, limit in most.items():
        data["symbols"][symbol]["max"] = limit
        for work in data["workloads"]:
            work["symbols"][symbol] = min(work["symbols"][symbol], limit)
    for domain in data["symbols"].values():
        domain |= {"min": multiple_of, "multiple_of": multiple_of}
    whole = [
        w for w in data["workloads"] if not any(v % multiple_of for v in w["symbols"].values())
    ]
    return _loaded(data | {"workloads": whole}, folder)


def _loaded(data: dict[str, Any], folder: Path) -> LoadedKernel:
    return load_data(data, folder, Roots([folder]))


def proposals(move: str, start: State) -> tuple[Candidate, ...]:
    """What a move proposes; it must fit."""
    found = BY_ID[move].propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    return found


def reason(move: str, start: State) -> str:
    """Why a move does not fit."""
    found = BY_ID[move].propose(start)
    assert isinstance(found, NotApplicable), [c.detail for c in found]
    return found.reason


def applied(start: State, candidate: Candidate) -> State:
    """The state that a candidate leads to."""
    parameters = {**start.parameters, **(candidate.parameters or {})}
    source, plan = candidate.source or start.source, candidate.plan or start.plan
    return replace(start, source=source, plan=plan, parameters=parameters)


def chain(name: str, *moves: str) -> State:
    """The state after moves in turn; `move:2` takes its third candidate."""
    now = state(name)
    for each in moves:
        move, _, number = each.partition(":")
        now = applied(now, proposals(move, now)[int(number or 0)])
    return now


def changes(name: str, move: str, number: int = 0, source: str | None = None) -> list[str]:
    """Lines that a candidate takes out and puts in, as a diff without its places."""
    before = state(name, source)
    after = proposals(move, before)[number].source
    assert after is not None
    lines = difflib.unified_diff(before.source.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
