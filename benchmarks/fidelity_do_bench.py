"""What `triton.testing.do_bench` says of the same machine code, deciding by a threshold of 1 %."""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Callable
from typing import Any

from fidelity_kernels import Case
from fidelity_lab import Lab

from kernelwright.runners.plans.plan import Artifact, PointerParam, ScalarParam

Result = dict[str, Any]
THRESHOLD = 0.01
COUNT = 60


def do_bench_part(
    lab: Lab[Case], found: Result, count: int | None, expired: Callable[[], bool]
) -> None:
    """A kernel against itself, and against each planted difference, into `found`."""
    knob, told = found["knob"], found.setdefault("do_bench", {})
    pairs = {"aa": knob}
    for wanted, entry in found.get("planted", {}).items():
        if entry.get("near"):
            pairs[wanted] = entry["slow_knob"]
    for name, slow in pairs.items():
        candidate, other = (_launcher(lab, lab.build(k)) for k in (knob, slow))
        rows = told.setdefault(name, {"comparisons": []})["comparisons"]
        for _ in range(count or COUNT):
            if expired():
                break
            rows.append(_compared(candidate, other))
        if rows:
            told[name]["summary"] = summary = _summary(rows)
            print(f"{lab.case.name}: do_bench {name}: {summary}", flush=True)


def _compared(candidate: Callable[[], None], other: Callable[[], None]) -> str:
    """Speedup, judgement, and seconds that it took."""
    testing: Any = importlib.import_module("triton.testing")
    started = time.monotonic()
    speedup = testing.do_bench(other) / testing.do_bench(candidate)
    took = time.monotonic() - started
    beyond = "faster" if speedup > 1 + THRESHOLD else "slower"
    judged = beyond if max(speedup, 1 / speedup) > 1 + THRESHOLD else "tie"
    return f"{speedup:.5f} {judged} {took:.3f}"


def _summary(rows: list[str]) -> Result:
    cells = [row.split() for row in rows]
    judged = [c[1] for c in cells]
    return {
        "count": len(rows),
        **{name: judged.count(name) for name in ("faster", "slower", "tie")},
        "mean_seconds": sum(float(c[2]) for c in cells) / len(cells),
        "largest": max(abs(float(c[0]) - 1) for c in cells),
    }


def _launcher(lab: Lab[Case], artifact: Artifact) -> Callable[[], None]:
    """One launch on torch's stream, on tensors of torch."""
    torch: Any = importlib.import_module("torch")
    cuda: Any = importlib.import_module("cuda.bindings.driver")
    torch.zeros(1, device="cuda")  # makes its context current; `torch.cuda.init` does not
    plan = artifact.plans[lab.contract.label]
    (launch,) = plan.launches
    (kernel,) = plan.kernels
    code = lab.module_path(artifact).read_bytes()
    module = _ok(cuda, cuda.cuModuleLoadData(code))
    function = _ok(cuda, cuda.cuModuleGetFunction(module, kernel.entry.encode()))
    tensors = {
        b.name: torch.randn(b.nbytes // 4, device="cuda", dtype=torch.float32) for b in plan.buffers
    }
    cells = list[Any]()
    for param in launch.params:
        if isinstance(param, PointerParam):
            cells.append(ctypes.c_uint64(tensors[str(param.buffer)].data_ptr() + param.offset))
        else:
            assert isinstance(param, ScalarParam)
            raw = bytes.fromhex(param.raw)
            cells.append((ctypes.c_char * len(raw)).from_buffer_copy(raw))
    pointers = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(cell) for cell in cells))

    def run(kept: object = (tensors, cells)) -> None:
        del kept  # what the pointers point to lives as long as this
        stream = torch.cuda.current_stream().cuda_stream
        shape = (*launch.grid, *kernel.block, kernel.shared, stream)
        _ok(cuda, cuda.cuLaunchKernel(function, *shape, ctypes.addressof(pointers), 0))

    return run


def _ok(cuda: Any, answer: Any) -> Any:
    """What a driver call returned. Raises RuntimeError."""
    error, *found = answer
    if error != cuda.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver says {error}")
    return found[0] if found else None
