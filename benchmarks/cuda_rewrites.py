"""Which plain CUDA kernels of many classes are lifted whole, and which get a schedule. Proposals
alone: nothing is run or timed, and no GPU is needed, but NVRTC.

    python benchmarks/cuda_rewrites.py [--only WORD] [--name cuda_rewrites]

The kernels are those of `cuda_rewrites_kernels.py`, which says which of them were held out. Result:
results/<name>.json; the first look at FIRST is kept in results/cuda_rewrites_first_look.json."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import cuda_rewrites_kernels
from cuda_rewrites_kernels import Kernel
from environment import write

from kernelwright.analysis.lift.text import lifted_text
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cuda.schedules import MOVES
from kernelwright.search.moves.cuda.schedules.parts.plain import Plain, plain_of

GROUPS = ("FIRST", "SECOND")


def main() -> None:
    """Print and keep what is read and written of each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="kernels whose name has this word")
    parser.add_argument("--name", default="cuda_rewrites")
    asked = parser.parse_args()
    result = dict[str, Any]()
    for group in GROUPS:
        kernels: Mapping[str, Kernel] = getattr(cuda_rewrites_kernels, group, {})
        rows = {n: _row(k) for n, k in kernels.items() if asked.only in n}
        if rows:
            result[group] = {
                "kernels": len(rows),
                "whole": sum(bool(r["lift"]) for r in rows.values()),
                "scheduled": sum(bool(r["schedules"]) for r in rows.values()),
                "rows": rows,
            }
            for name, row in rows.items():
                print(f"{name} | {row['why'] or 'whole'} | {row['schedules'] or row['refused']}")
            print({k: v for k, v in result[group].items() if k != "rows"})
    if not asked.only:
        print(write(asked.name, result))


def _row(kernel: Kernel) -> dict[str, Any]:
    """What becomes of one kernel."""
    spec = KernelSpec.model_validate(kernel.spec())
    state = State("cuda", kernel.source, {}, BuildOptions(), spec)
    began = time.process_time()
    plain = plain_of(state)
    read = time.process_time()
    found, refused = list[str](), dict[str, str]()
    for move in MOVES:
        answer = move.propose(state)
        if isinstance(answer, NotApplicable):
            refused[move.id] = answer.reason
        else:
            found += [f"{move.id}: {c.detail}" for c in answer]
    whole = isinstance(plain, Plain)
    return {
        "family": kernel.family,
        "lift": lifted_text(plain.lifted) if whole else "",
        "why": "" if whole else plain.reason,
        "schedules": found,
        "refused": {} if found or not whole else refused,
        "seconds": {"reading": read - began, "writing": time.process_time() - read},
    }


if __name__ == "__main__":
    main()
