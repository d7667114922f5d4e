"""What libraries take for the work of the GPU examples; usage: yardsticks.py PATH...

A path is that of a spec, or a folder with a `spec.json`. Prints JSON: milliseconds by spec (its
name) or folder, and workload, and the bandwidth of a large copy. It runs in a process of its own,
because torch has no business beside the clock of the searches.
"""

from __future__ import annotations

import importlib
import json
import math
import random
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.specs.contract import BoundArgument, BoundContract, bind

BLOCKS, SAMPLES = 12, 7
SAMPLE_MS = 0.2  # events tell about half a microsecond apart
MOST_CALLS = 32
HOLD_CYCLES = 60_000  # a call; some 30 us, more than a call takes to be queued
COPY_BYTES = 1 << 30
METHOD = (
    f"median of {BLOCKS} interleaved blocks of {SAMPLES} samples; CUDA events, L2 flushed before a "
    f"sample, the queue held until all of it is queued, up to {MOST_CALLS} calls a sample on "
    "tensors of their own"
)


@dataclass
class Case:
    """One library call on one workload; `sets` are the arguments of the calls of a sample."""

    name: str
    workload: str
    call: Callable[..., Any]
    sets: list[dict[str, Any]]
    pristine: dict[str, Any]
    """what arguments that are changed in place start from"""
    blocks_ms: list[float] = field(default_factory=list[float])

    def restore(self) -> None:
        """Give every set the values that it starts from."""
        for each in self.sets:
            for name, values in self.pristine.items():
                each[name].copy_(values)


class Clock:
    """Times calls on the current GPU."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        l2_bytes = int(torch.cuda.get_device_properties(0).L2_cache_size)
        self._evictor = torch.empty(2 * l2_bytes // 4, dtype=torch.float32, device="cuda")
        self._read = torch.empty(1, dtype=torch.float32, device="cuda")

    def block_ms(self, case: Case) -> float:
        """The median of one block of samples, in milliseconds a call."""
        events = [self._sample(case) for _ in range(SAMPLES)]
        self._torch.cuda.synchronize()
        return median(start.elapsed_time(end) / len(case.sets) for start, end in events)

    def _sample(self, case: Case) -> tuple[Any, Any]:
        cuda = self._torch.cuda
        start, end = (cuda.Event(enable_timing=True) for _ in range(2))
        case.restore()
        self._evictor.zero_()
        self._torch.sum(self._evictor, dim=0, keepdim=True, out=self._read)  # lines end clean
        cuda._sleep(HOLD_CYCLES * (4 + len(case.sets)))
        start.record()
        for arguments in case.sets:
            case.call(**arguments)
        end.record()
        return start, end


def main() -> None:
    """Measure the examples named on the command line."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        sys.exit(f"yardsticks need torch: {error}")
    if not torch.cuda.is_available():
        sys.exit("yardsticks need a GPU that torch can use")
    cases = [case for name in sys.argv[1:] for case in _cases(torch, Path(name))]
    copy = _copy(torch)
    measure(Clock(torch), [*cases, copy], torch)
    found: dict[str, dict[str, float]] = {}
    for case in cases:
        found.setdefault(case.name, {})[case.workload] = median(case.blocks_ms)
    result = {
        "method": METHOD,
        "library": f"torch {torch.__version__}",
        "copy_bytes_per_s": 2 * COPY_BYTES / (median(copy.blocks_ms) * 1e-3),
        "ms": found,
        "blocks_ms": {f"{c.name}/{c.workload}": c.blocks_ms for c in [*cases, copy]},
    }
    print(json.dumps(result))


def measure(clock: Clock, cases: list[Case], torch: Any) -> None:
    """Choose the calls of a sample, then time all cases in interleaved blocks."""
    for case in cases:
        clock.block_ms(case)  # libraries choose their kernels in the first calls
        calls = math.ceil(SAMPLE_MS / max(clock.block_ms(case), 1e-4))
        first = case.sets[0]
        for _ in range(min(calls, MOST_CALLS) - 1):
            case.sets.append({n: v.clone() if torch.is_tensor(v) else v for n, v in first.items()})
    for _ in range(BLOCKS):
        for case in random.sample(cases, len(cases)):
            case.blocks_ms.append(clock.block_ms(case))


def _cases(torch: Any, path: Path) -> list[Case]:
    file = path / "spec.json" if path.is_dir() else path
    spec = parse_spec(json.loads(file.read_text(encoding="utf-8")))
    call = runpy.run_path(str(file.with_name("yardstick.py")))["yardstick"]
    name = path.name if path.is_dir() else spec.name
    return [
        case_of(torch, name, call, bind(spec.io, workload.symbols, workload.name))
        for workload in spec.workloads
    ]


def case_of(torch: Any, name: str, call: Callable[..., Any], contract: BoundContract) -> Case:
    """A call on tensors of its own. Raises ValueError for an unknown init."""
    arguments: dict[str, Any] = {}
    for bound in contract.arguments:
        is_array = bound.argument.role != "scalar"
        arguments[bound.name] = _tensor(torch, bound) if is_array else bound.value
    changed = [b.name for b in contract.arrays if b.argument.role == "inout"]
    pristine = {each: arguments[each].clone() for each in changed}
    return Case(name, contract.label, call, [arguments], pristine)


def _tensor(torch: Any, bound: BoundArgument) -> Any:
    """Memory on the GPU, filled as the contract says. Raises ValueError for an unknown init."""
    dtype = getattr(torch, bound.argument.dtype)
    empty = torch.empty(bound.shape, dtype=dtype, device="cuda")
    if bound.argument.role == "output":
        return empty
    init = bound.argument.filled
    match init.kind:
        case "randn":
            return empty.normal_(init.shift, init.scale)
        case "uniform":
            return empty.uniform_(init.low, init.high)
        case "randint":
            return empty.random_(int(init.low), int(init.high))
        case kind:
            raise ValueError(f"{bound.name}: init `{kind}`; valid: randn, uniform, randint")


def _copy(torch: Any) -> Case:
    source = torch.ones(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return Case("copy", "large", lambda: target.copy_(source), [{}], {})


if __name__ == "__main__":
    main()
