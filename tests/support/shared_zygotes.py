"""Processes that fork builds for all builders of a run of the tests, by their environments.

Those of each builder would import torch and Triton anew, seconds of a processor before a build.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from kernelwright.runners.building import builder
from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.compile_cache import VARIABLE

MOST = 6
"""kept at once: a test with an environment of its own needs none of the others"""
OWN_ANSWER = Builder._answer  # pyright: ignore[reportPrivateUsage]


class SharedZygotes:
    """Takes the place of `Builder._answer`. Builders keep their folders, caches and modules."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._numbers = itertools.count(1)
        self._shared: OrderedDict[tuple[str, ...], Builder] = OrderedDict()

    def answer(
        self, number: int, folder: Path, message: Mapping[str, object], timeout_s: float
    ) -> str:
        """As `Builder._answer`, by a zygote that others ask as well."""
        shared, number = self._builder(_kind(message))
        return OWN_ANSWER(shared, number, folder, message, timeout_s)

    def close(self) -> None:
        """Ends them all."""
        with self._lock:
            while self._shared:
                self._shared.popitem()[1].close()

    def _builder(self, kind: str) -> tuple[Builder, int]:
        environment = builder.clean_environment(Path())  # that of a pretended GPU, within one
        names = [n for n in environment if not n.startswith("PRETEND_GPU_")]
        key = (kind, *(f"{n}={environment[n]}" for n in sorted({*names} - {"TMPDIR", VARIABLE})))
        with self._lock:
            number = next(self._numbers)
            if key not in self._shared:
                place = self._folder / str(number)
                self._shared[key] = Builder(place / "modules", place / "scratch")
                if len(self._shared) > MOST:
                    self._shared.popitem(last=False)[1].close()
            self._shared.move_to_end(key)
            return self._shared[key], number


def _kind(message: Mapping[str, object]) -> str:
    """What it builds: a fork of a process that has torch copies more."""
    match message:
        case {"request": {"kernel": {"spec": {"kernel": {"kernel_type": str(kind)}}}}}:
            return kind
        case _:
            return ""
