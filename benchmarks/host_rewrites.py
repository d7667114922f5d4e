"""How many plain C++ kernels and respellings of `lifting_host.py` the schedules write anew.
Proposals alone: nothing is timed.

    python benchmarks/host_rewrites.py

The schedules were developed on these kernels. `same` counts respellings whose candidates have the
body that the plain spelling's have. Needs NVRTC. Result: results/host_rewrites.json."""

from __future__ import annotations

from typing import Any

from environment import write
from lifting_host import HOST, HOST_HELD_OUT, HOST_RESPELLINGS

from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cpp.schedules import MOVES

LARGE = "rows * cols + rows * rows + cols * cols + 20"


def main() -> None:
    """Print and keep the shares."""
    kernels, respelled, same = [0, 0], [0, 0], 0
    left = dict[str, str]()
    for name, kernel in (HOST | HOST_HELD_OUT).items():
        plain, why = _bodies(kernel.source)
        kernels = [kernels[0] + bool(plain), kernels[1] + 1]
        if not plain:
            left[name] = why
        for rule in HOST_RESPELLINGS.values():
            source = rule(kernel.source)
            if source == kernel.source:
                continue
            found, _ = _bodies(source)
            respelled = [respelled[0] + bool(found), respelled[1] + 1]
            same += bool(found) and found == plain
    result: dict[str, Any] = {
        "kernels": {"written": kernels[0], "of": kernels[1], "left": left},
        "respellings": {"written": respelled[0], "of": respelled[1], "same": same},
    }
    print(result)
    print(write("host_rewrites", result))


def _bodies(source: str) -> tuple[list[str], str]:
    """What stands in the function's braces in each candidate; why there is none."""
    state, found, why = _state(source), list[str](), ""
    for move in MOVES:
        answer = move.propose(state)
        if isinstance(answer, NotApplicable):
            why = answer.reason
        else:
            found += [(c.source or "").partition("// schedule: ")[2] for c in answer]
    return [text[text.index("{") :] for text in found], why


def _state(source: str) -> State:
    arrays = [
        {"name": name, "role": role, "dtype": "float32", "shape": [LARGE]}
        for name, role in (("a", "input"), ("b", "input"), ("y", "inout"))
    ]
    sizes = [
        {"name": name, "role": "scalar", "dtype": "int32", "value": value}
        for name, value in (("n", "rows * cols"), ("rows", "rows"), ("cols", "cols"))
    ]
    spec = KernelSpec.model_validate(
        {
            "name": "f",
            "kernel": {
                "kernel_type": "cpp",
                "source_code": source,
                "metadata": {"kernel_name": "f"},
            },
            "io": {"arguments": [*arrays, *sizes]},
            "symbols": {name: {"min": 1, "max": 4096} for name in ("rows", "cols")},
            "workloads": [{"name": "w", "symbols": {"rows": 9, "cols": 9}}],
            "reference": "baseline",
        }
    )
    return State("cpp", source, {}, BuildOptions(), spec)


if __name__ == "__main__":
    main()
