"""`spec --infer` on the plain kernels of `lifting.py`: what is open without the lift, and with it.

    python benchmarks/inferred_specs.py

Needs NVRTC and no GPU. The kernels are those that the readers of lifts were developed on or have
seen since; what reads facts from lifts was looked at on them, too, so none of them is held out. The
value of a size in a real call, of which each kernel has three, only its user knows. Result:
results/inferred_specs.json."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from environment import write
from lifting_host import HOST, HOST_HELD_OUT
from lifting_kernels import DEVELOPED, HELD_OUT

from kernelwright.runners.loading.completing import Draft, draft_of_source
from kernelwright.tools.parts.lifted_draft import with_lift

CORPUS = {"cpp": HOST | HOST_HELD_OUT, "cuda": DEVELOPED | HELD_OUT}
FILES = {"cpp": "f.cpp", "cuda": "f.cu"}


def main() -> None:
    """Print and keep the numbers."""
    found = {language: _counted(language) for language in CORPUS}
    for language, row in found.items():
        print(language, row)
    print(write("inferred_specs", {"languages": found}))


def _counted(language: str) -> dict[str, Any]:
    before, after, outputs, told = list[Draft](), list[Draft](), 0, Counter[str]()
    for kernel in CORPUS[language].values():
        drafted = draft_of_source(FILES[language], kernel.source)
        lifted = with_lift(drafted, kernel.source)
        before.append(drafted)
        after.append(lifted)
        outputs += sum(
            one["role"] != other["role"]
            for one, other in zip(
                drafted.data["io"]["arguments"], lifted.data["io"]["arguments"], strict=True
            )
        )
        told.update(name for name in ("bytes", "flops") if name in lifted.data["io"])
    return {
        "kernels": len(before),
        "open before": _open(before),
        "open after": _open(after),
        "roles told otherwise": outputs,
        **{f"{name} told": told[name] for name in ("bytes", "flops")},
    }


def _open(drafts: list[Draft]) -> dict[str, float]:
    every = [len(each.undecided) for each in drafts]
    sizes = [sum(line.startswith("workloads.") for line in each.undecided) for each in drafts]
    return {
        "median": median(every),
        "sum": sum(every),
        "sum beside sizes of a real call": sum(every) - sum(sizes),
    }


if __name__ == "__main__":
    main()
