"""What a winner costs to be called on this host, whatever its kernel takes.

    python -m kernelwright.deploy.cost cpu        # or cuda; a line of JSON, in microseconds

A call of a small operator of PyTorch, the same with a winner in its place whose kernel does
nothing, and the same for a call that the winner leaves to PyTorch: in turns, the least of all
rounds, as neighbours on a busy host only add to it. On a GPU nothing is waited for meanwhile;
`wait_us` is what waiting for one such kernel takes.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from .aten import Operator, put_in_place, take_out
from .host_code import processor
from .reading import Buffer, Case, Made, Parameter, Refused, Step, Winner

OPERATOR, NUMBERS = "aten::neg", 32
CALLS, ROUNDS = 300, 15
LIBRARY, NOTHING = "libc.so.6", "labs"
"""a function that takes a word, and reads nothing that it points to"""
PTX = """.version 6.3
.target sm_{cc}
.address_size 64
.visible .entry nothing(.param .u64 x, .param .u64 out) {{ ret; }}
"""


def call_costs(device: Literal["cpu", "cuda"]) -> dict[str, float]:
    """Microseconds: `operator_us`, `winner_us`, `elsewhere_us`, `wait_us`. Raises Refused where
    there is no such device, or no such function."""
    torch = importlib.import_module("torch")
    if device == "cuda" and not torch.cuda.is_available():
        raise Refused("this torch finds no GPU")
    neg = torch.ops.aten.neg.default
    given, other = (torch.ones(n, device=device) for n in (NUMBERS, NUMBERS + 1))
    empty: Callable[[], object] = torch.cuda.synchronize if device == "cuda" else lambda: None
    told = dict[str, list[float]](operator_us=[], winner_us=[], elsewhere_us=[], wait_us=[])
    with tempfile.TemporaryDirectory(prefix="kernelwright-cost-") as folder, torch.no_grad():
        operator = Operator(_winner(torch, device, Path(folder)))
        for _ in range(ROUNDS):
            told["operator_us"].append(_call_us(lambda: neg(given), empty))
            put_in_place(operator)
            try:
                told["winner_us"].append(_call_us(lambda: neg(given), empty))
                told["elsewhere_us"].append(_call_us(lambda: neg(other), empty))
                told["wait_us"].append(_wait_us(lambda: neg(given), empty))
            finally:
                take_out(OPERATOR)
    return {name: min(each) for name, each in told.items()}


def _call_us(call: Callable[[], object], empty: Callable[[], object]) -> float:
    """Of one of many calls, until the last has returned."""
    call()
    empty()
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    took = time.perf_counter() - start
    empty()
    return took / CALLS * 1e6


def _wait_us(call: Callable[[], object], empty: Callable[[], object]) -> float:
    empty()
    call()
    start = time.perf_counter()
    empty()
    return (time.perf_counter() - start) * 1e6


def _winner(torch: Any, device: Literal["cpu", "cuda"], folder: Path) -> Winner:
    """One whose kernel does nothing, for a vector of `NUMBERS` floats."""
    shape, strides = (NUMBERS,), (1,)
    key = ((("tensor", "float32", shape, strides, device),), ())
    buffers = {"x": Buffer("input", 0), "out": Buffer("output", 0)}
    parameters = (Parameter(buffer="x"), Parameter(buffer="out"))
    file, entry, target, home = LIBRARY, NOTHING, processor(), Path()
    if device == "cuda":
        major, minor = torch.cuda.get_device_capability()
        target, file, entry, home = f"sm_{major}{minor}", "nothing.ptx", "nothing", folder
        (folder / file).write_text(PTX.format(cc=75 if (major, minor) >= (7, 5) else 70))
    step = Step(file, entry, parameters)
    case = Case("nothing", key, (Made("float32", shape, strides),), buffers, (step,))
    return Winner(home, OPERATOR, device, target, (file,), (case,), {})


def main() -> None:
    """Print them, or end with a sentence."""
    device = sys.argv[1] if len(sys.argv) == 2 else ""
    if device not in ("cpu", "cuda"):
        sys.exit(__doc__)
    try:
        print(json.dumps(call_costs(device)))
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
