"""Tuning spaces that were measured exhaustively, and the score of a search in one.

`data/README.md` says where they come from. A search is a list of times in the order in which
distinct configurations were measured, None for one that failed; its score after n measurements
is the optimum's time over the best time so far: 1 when the optimum was found, 0 when all failed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
NAMES = ("convolution_A100", "convolution_A4000", "dedispersion_A6000")

Value = int | float | str
Configuration = tuple[Value, ...]
Trace = list[float | None]


@dataclass(frozen=True)
class MeasuredSpace:
    """One kernel on one GPU. `times`: ms by configuration, None for one that failed."""

    name: str
    kernel_name: str
    problem_size: tuple[int, ...]
    values: dict[str, list[Value]]
    times: dict[Configuration, float | None]

    @cached_property
    def optimum(self) -> float:
        """The least time of all configurations, ms."""
        return min(t for t in self.times.values() if t is not None)

    @property
    def kernel(self) -> str:
        """The kernel's short name, without the GPU."""
        return self.name.partition("_")[0]


@cache
def space(name: str) -> MeasuredSpace:
    """The measured space of that name."""
    read: dict[str, Any] = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
    values: dict[str, list[Value]] = {k: read["tune_params"][k] for k in read["tune_params_keys"]}
    # Keys hold values as text; each parameter knows which of its values reads like that.
    spelled = [{str(value): value for value in of_one} for of_one in values.values()]
    times = {
        tuple(known[text] for known, text in zip(spelled, key.split(","), strict=True)): (
            None if isinstance(time, str) else float(time)
        )
        for key, time in read["cache"].items()
    }
    return MeasuredSpace(name, read["kernel_name"], tuple(read["problem_size"]), values, times)


def scores(trace: Sequence[float | None], optimum: float, budgets: Iterable[int]) -> list[float]:
    """Optimum over best after each budget of measurements."""
    return [_score(trace[:budget], optimum) for budget in budgets]


def _score(trace: Sequence[float | None], optimum: float) -> float:
    measured = [time for time in trace if time is not None]
    return optimum / min(measured) if measured else 0.0
