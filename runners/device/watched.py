"""What processes that a tool watches have in common: a shape on buffers of its own, job and answer.

Every buffer is an allocation of exactly the size that the plan asks for; outputs and scratch are
left unwritten.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from ..model import Record
from ..plans.plan import LaunchPlan, SetSymbol
from ..watched.messages import ANSWER, Watched, WatchedJob
from .cuda_driver import driver
from .cuda_driver.binding import relocated
from .cuda_driver.bound import Binder, BoundPlan, BoundStep
from .cuda_driver.code import Code
from .cuda_driver.driver import Stream
from .presence.registry import register


class Shape:
    """One shape's buffers on the device, and the plan bound to them."""

    def __init__(self, watched: Watched, modules: Mapping[str, str], stream: Stream) -> None:
        self._watched, self._modules, self._stream = watched, modules, stream
        plan = watched.plan
        self._contract = watched.pool.bound()
        self.addresses = {b.name: driver.allocate(b.nbytes) for b in plan.buffers}
        self._raw = {raw: driver.allocate(len(raw) // 2) for raw in _raw_values(plan)}
        for raw, address in self._raw.items():
            self._upload(address, bytes.fromhex(raw))
        for buffer in plan.buffers:
            if buffer.sha256 is not None:
                content = Path(modules[buffer.sha256]).read_bytes()
                self._upload(
                    self.addresses[buffer.name], relocated(buffer, content, self.addresses)
                )
            elif buffer.role == "launch_scratch":  # the launcher's own, no author's matter
                self._upload(self.addresses[buffer.name], bytes(buffer.nbytes))

    def bind(self) -> tuple[Code, BoundPlan]:
        """The loaded code, which is the caller's to close, and the plan on these buffers.

        Raises DriverFault, RunFault.
        """
        code = Code(self._modules, self._watched.plan)
        binder = Binder(self._watched.plan, code, self._raw.__getitem__)
        return code, binder.bind(self.addresses)

    def close(self) -> None:
        """Give the buffers back."""
        for address in (*self.addresses.values(), *self._raw.values()):
            driver.free(address)

    def enqueue(self, steps: Iterable[BoundStep]) -> None:
        """These steps, in order. Raises RunFault."""
        for step in steps:
            step.enqueue(self._stream)

    def upload_inputs(self) -> None:
        """The values of the seed, in place of what a run left there."""
        content, cursor = Path(self._watched.inputs).read_bytes(), 0
        for bound in self._contract.inputs:
            self._upload(self.addresses[bound.name], content[cursor : cursor + bound.nbytes])
            cursor += bound.nbytes

    def _upload(self, address: int, content: bytes) -> None:
        driver.upload(self._stream, address, np.frombuffer(content, dtype=np.uint8))


def _raw_values(plan: LaunchPlan) -> list[str]:
    steps = (step for _, step in plan.located if isinstance(step, SetSymbol))
    return list(dict.fromkeys(step.raw for step in steps if step.raw is not None))


def answer_job(run: Callable[[WatchedJob], Record]) -> None:
    """Do the job whose file argv names, and leave the answer beside it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what kernels print
    path = Path(sys.argv[1])
    job = WatchedJob.model_validate_json(path.read_bytes())
    signal.alarm(math.ceil(job.wall_s))  # the tool stands between us and whoever would end us
    register(Path(job.registry))
    (path.parent / ANSWER).write_text(run(job).model_dump_json(), encoding="utf-8")
