"""The kernels that `no_model.py` starts from: what people write in their first week, right and not
tuned. `kernels/README.md` says how they were chosen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import ROOT

KERNELS = ROOT / "benchmarks" / "kernels"
EXAMPLES = ROOT / "examples"
AMONG_THE_EXAMPLES = ("triton_reduction", "cuda_transpose")
"""examples that are beginner's kernels of their kind; no folder of `kernels/` repeats them"""


@dataclass(frozen=True)
class BeginnerKernel:
    """One spec. `name`: as in the spec."""

    name: str
    language: str
    path: Path


def beginner_kernels(only: Sequence[str] = ()) -> tuple[BeginnerKernel, ...]:
    """All, in order of name, or those that `only` names: by spec, folder or language.

    Raises ValueError for a name that means none of them.
    """
    own = KERNELS.glob("*/*.json")
    paths = [*own, *(EXAMPLES / name / "spec.json" for name in AMONG_THE_EXAMPLES)]
    found = sorted((_read(path) for path in paths), key=lambda each: each.name)
    called = {each.name: {each.name, each.language, each.path.parent.name} for each in found}
    known = set[str]().union(*called.values())
    if unknown := sorted(set(only) - known):
        raise ValueError(f"no kernel is called `{unknown[0]}`; valid: {', '.join(sorted(known))}")
    return tuple(each for each in found if not only or called[each.name] & set(only))


def _read(path: Path) -> BeginnerKernel:
    data = json.loads(path.read_text(encoding="utf-8"))
    return BeginnerKernel(data["name"], data["kernel"]["kernel_type"], path)
