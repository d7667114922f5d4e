"""What torch takes for kernels of `schedules_corpus.py`, eager and compiled; prints JSON.

    python benchmarks/schedules_torch.py CORPORA NAME...

In a process of its own, as torch has no business beside the clock of the searches.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from keyword import iskeyword
from statistics import median
from typing import Any

from schedules_corpus import Searched, kernels_of
from yardsticks import METHOD, Case, Clock, case_of, measure

from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.specs.contract import BoundContract, bind

COMPILING_S = 150.0
"""for all kernels together, after which the rest are timed eager alone"""


def main() -> None:
    """Time every kernel's call on data as its contract draws it, one kernel after the other."""
    corpora, names = sys.argv[1].split(","), set(sys.argv[2:])
    torch: Any = importlib.import_module("torch")
    clock, compiling_s = Clock(torch), 0.0
    ms, failed = dict[str, dict[str, float]](), dict[str, str]()
    for each in kernels_of(corpora):
        if each.name not in names:
            continue
        began = time.monotonic()
        cases, why = _cases(torch, each, compiling=compiling_s < COMPILING_S)
        compiling_s += time.monotonic() - began
        failed.update({f"{each.name}, {form}": told for form, told in why.items()})
        measure(clock, cases, torch)
        ms[each.name] = {case.name: median(case.blocks_ms) for case in cases}
    print(
        json.dumps(
            {
                "method": METHOD,
                "library": f"torch {torch.__version__}",
                "ms": ms,
                "failed": failed,
            }
        )
    )


def contract_of(kernel: Searched) -> BoundContract:
    """Of its first workload."""
    spec = parse_spec(dict(kernel.spec))
    return bind(spec.io, spec.workloads[0].symbols, spec.workloads[0].name)


def call_of(torch: Any, kernel: Searched) -> Any:
    """A function of all of the kernel's arguments by name; outputs are torch's own."""
    names = [a["name"] for a in kernel.spec["io"]["arguments"] if a["role"] != "output"]
    given = ", ".join(_named(each) for each in names)
    scope = {"torch": torch, "F": torch.nn.functional}
    call = eval(f"lambda {given}: {kernel.torch}", scope)  # our own text

    def called(**arguments: Any) -> Any:
        return call(*(arguments[each] for each in names))

    return called


def _named(name: str) -> str:
    return f"{name}_" if iskeyword(name) else name


def _cases(torch: Any, kernel: Searched, *, compiling: bool) -> tuple[list[Case], dict[str, str]]:
    """The forms that answered once, and why the others did not."""
    call, contract = call_of(torch, kernel), contract_of(kernel)
    forms = {"eager": call}
    if compiling:
        torch.compiler.reset()
        forms["compiled"] = torch.compile(call, dynamic=False)
    cases, failed = list[Case](), dict[str, str]()
    for form, each in forms.items():
        case = case_of(torch, form, each, contract)
        try:
            case.call(**case.sets[0])
        except Exception as error:  # torch and its compiler raise whatever is in them
            failed[form] = f"{type(error).__name__}: {error}"[:300]
        else:
            cases.append(case)
    return cases, failed


if __name__ == "__main__":
    main()
