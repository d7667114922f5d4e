"""Winners that run on the processor: functions of a shared library, each given its parameters as an
array of their addresses."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .packing import Packing, addresses_of, held_for
from .reading import Case, Refused, Step, Winner

Prepared = Callable[[list[Any], list[Any]], bool]


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
        """What runs a case on tensors and into results. Raises Refused."""
        torch = self._torch
        calls = [(self._function(step), Packing(step.parameters)) for step in case.steps]

        def run(tensors: list[Any], results: list[Any]) -> bool:
            held = held_for(case, torch, "cpu")
            at = addresses_of(case, tensors, results)
            at |= {name: memory.data_ptr() for name, memory in held.items()}
            for function, packing in calls:
                array, memory = packing.packed(at)
                function(array)
                del memory
            return True

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
