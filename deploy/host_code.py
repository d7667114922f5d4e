"""Winners that run on the processor: functions of a shared library, each given its parameters as an
array of their addresses."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .memory import Memory
from .packing import Packing
from .reading import Case, Refused, Step, Winner

Prepared = Callable[[list[Any], list[int]], list[Any] | None]
"""given the tensors of a call and their addresses, its results; None: it does not run there"""


def processor() -> str:
    """The processor's name: code that is built for one may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


class HostCode:
    """The libraries of a winner."""

    def __init__(self, winner: Winner, torch: Any) -> None:
        self._folder, self._torch = winner.folder, torch
        self._libraries = dict[str, ctypes.CDLL]()

    def prepare(self, case: Case) -> Prepared:
        """What runs a case. Raises Refused."""
        memory = Memory(case, self._torch, "cpu")
        calls = [
            (self._function(each), Packing(each.parameters, memory.slots)) for each in case.steps
        ]

        def run(_: list[Any], at: list[int]) -> list[Any]:
            new = memory.new()
            at += [each.data_ptr() for each in new]
            for function, packing in calls:
                piece = packing.take(at)
                function(piece[0])
                packing.give(piece)
            return new[: memory.results]

        return run

    def _function(self, step: Step) -> Any:
        if not step.file:
            raise Refused("host code without a library")
        if step.file not in self._libraries:
            try:
                self._libraries[step.file] = ctypes.CDLL(str(self._folder / step.file))
            except OSError as error:
                raise Refused(f"{step.file} cannot be loaded: {error}") from error
        try:
            function = getattr(self._libraries[step.file], step.entry)
        except AttributeError as error:
            raise Refused(f"{step.file} has no function {step.entry}") from error
        function.restype, function.argtypes = None, [ctypes.c_void_p]
        return function
