"""A module as a program that can be recorded and verified: it calls the module, and says the time.

    python -m kernelwright.runners.modules.as_program MODEL.py [--class NAME] [--init JSON]
        [--input float32[4,512]]... [--device cpu] [--calls 20] [--seed 42] [--outputs FILE]
    python -m kernelwright.runners.modules.as_program --compare FOLDER FOLDER

Prints `call M ms`, the median (waited for on a GPU). `--outputs` writes what the module returned.
`--compare` ends with 0 where the files of two folders hold the same tensors, within 1e-4 for
float32 and float64 and 1e-2 for narrower types, absolute and relative.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from .common.messages import ModuleJob, ModuleSource
from .common.torch_library import synchronise, tensors_in, torch
from .forms.subjects import load_subject

WIDE, NARROW = 1e-4, 1e-2
WARM_UP = 2


def main(words: Sequence[str]) -> int:
    """Do what the command line says; the exit status."""
    given = _parser().parse_args(words)
    if given.compare:
        return 0 if alike(*map(Path, given.compare)) else 1
    source = ModuleSource(
        path=given.model, name=given.class_name, init=json.loads(given.init), inputs=given.input
    )
    loaded = load_subject(
        ModuleJob(
            source=source, device=given.device, phases=(), seed=given.seed, scratch="", readable=()
        )
    )
    made = [loaded.call() for _ in range(WARM_UP)][-1]
    taken = list[float]()
    for _ in range(given.calls):
        synchronise(given.device)
        start = time.perf_counter()
        loaded.call()
        synchronise(given.device)
        taken.append(time.perf_counter() - start)
    print(f"call {median(taken) * 1e3:.4f} ms")
    if given.outputs:
        torch().save([each.cpu() for each in tensors_in(made)], given.outputs)
    return 0


def alike(one: Path, other: Path) -> bool:
    """Whether the tensors of two folders' files agree, file by file in order of their names."""
    names = sorted(each.name for each in one.glob("*.pt"))
    if not names or names != sorted(each.name for each in other.glob("*.pt")):
        return False
    return all(_close(_read(one / name), _read(other / name)) for name in names)


def _read(file: Path) -> list[Any]:
    return torch().load(file, weights_only=True)


def _close(one: Sequence[Any], other: Sequence[Any]) -> bool:
    if [(t.shape, t.dtype) for t in one] != [(t.shape, t.dtype) for t in other]:
        return False
    return all(
        torch().allclose(a, b, rtol=_most(a), atol=_most(a), equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def _most(tensor: Any) -> float:
    if not tensor.is_floating_point():
        return 0.0
    return WIDE if tensor.element_size() >= 4 else NARROW


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="as_program", description="A module as a program.")
    parser.add_argument("model", nargs="?", default="")
    parser.add_argument("--class", dest="class_name", default="")
    parser.add_argument("--init", default="{}")
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--outputs", default="")
    parser.add_argument("--compare", nargs=2, metavar="FOLDER")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
