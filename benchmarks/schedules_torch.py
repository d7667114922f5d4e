"""What torch takes for the kernels of `schedules_kernels.py`, eager and compiled; prints JSON.

In a process of its own, as torch has no business beside the clock of the searches.
"""

from __future__ import annotations

import importlib
import json
import time
from statistics import median
from typing import Any

from schedules_kernels import DEVELOPED, HELD_OUT, Plain
from yardsticks import METHOD, Case, Clock, measure

COMPILING_S = 40.0
"""for all kernels together, after which the rest are timed eager alone"""


def main() -> None:
    """Time every kernel's call on data as its contract draws it."""
    torch: Any = importlib.import_module("torch")
    began, cases = time.monotonic(), list[Case]()
    for name, plain in {**DEVELOPED, **HELD_OUT}.items():
        call, given = _call(torch, plain), _inputs(torch, plain)
        cases.append(Case(name, "eager", call, [given], {}))
        if time.monotonic() - began < COMPILING_S:
            compiled = torch.compile(call, dynamic=False)
            compiled(**given)
            cases.append(Case(name, "compiled", compiled, [given], {}))
    measure(Clock(torch), cases, torch)
    found: dict[str, dict[str, float]] = {}
    for case in cases:
        found.setdefault(case.name, {})[case.workload] = median(case.blocks_ms)
    print(json.dumps({"method": METHOD, "library": f"torch {torch.__version__}", "ms": found}))


def _call(torch: Any, plain: Plain) -> Any:
    names = ", ".join(list(plain.arrays)[:-1])
    scope = {"torch": torch, "F": torch.nn.functional}
    return eval(f"lambda {names}: {plain.torch}", scope)  # our own text


def _inputs(torch: Any, plain: Plain) -> dict[str, Any]:
    sizes = {"rows": plain.rows, "cols": plain.cols}
    found = dict[str, Any]()
    for name, shape in list(plain.arrays.items())[:-1]:
        at = [sizes[each] if each in sizes else int(each) for each in shape]
        whole = plain.dtypes.get(name) == "int32"
        made = torch.empty(at, dtype=torch.int32 if whole else torch.float32, device="cuda")
        found[name] = made.random_(0, 1000) if whole else made.normal_()
    return found


if __name__ == "__main__":
    main()
