"""Runs a variant on buffers of exactly the size that its plan asks for, watched by
compute-sanitizer.

`python -m kernelwright.runners.device.sanitized JOB`. Every buffer is an allocation of its own, so
that an access beyond it is seen; outputs and scratch are left unwritten, so that a read of them is.
Each shape runs twice, the second time on what the first has left in all but its inputs. Nothing is
looked at: what the tool found, and an answer that says how far this came, is all that comes of it.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from ..plans.plan import LaunchPlan, SetSymbol
from ..sanitizer.messages import ANSWER, Allocation, SanitizerAnswer, SanitizerJob, Watched
from . import driver
from .binding import relocated
from .bound import Binder, BoundPlan, BoundStep
from .code import Code
from .driver import Stream
from .faults import DriverFault, RunFault
from .registry import register

RUNS = 2


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

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """Where each buffer of the plan lies."""
        plan = self._watched.plan
        return tuple(
            Allocation(
                shape=plan.label, buffer=b.name, address=self.addresses[b.name], nbytes=b.nbytes
            )
            for b in plan.buffers
        )

    def bind(self) -> tuple[Code, BoundPlan]:
        """The loaded code, which is the caller's to close, and the plan on these buffers.

        Raises DriverFault, RunFault.
        """
        code = Code(self._modules, self._watched.plan)
        binder = Binder(self._watched.plan, code, self._raw.__getitem__)
        return code, binder.bind(self.addresses)

    def run(self) -> Iterator[None]:
        """Run the plan RUNS times; gives control back after each. Raises DriverFault, RunFault.

        Setup once alone: who calls a kernel twice does not prepare its buffers twice.
        """
        code, bound = self.bind()
        for number in range(RUNS):
            self.upload_inputs()
            self.enqueue((*(bound.setup if number == 0 else ()), *bound.steps))
            driver.synchronize()
            yield
        code.close()

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


def run_job(job: SanitizerJob) -> SanitizerAnswer:
    """Run all shapes, up to the first that the driver refuses or that fails."""
    allocations, runs = list[Allocation](), 0
    try:
        driver.make_current()
        stream = driver.make_stream()
        for watched in job.shapes:
            shape = Shape(watched, job.modules, stream)
            allocations += shape.allocations
            for _ in shape.run():
                runs += 1
            shape.close()
    except (DriverFault, RunFault) as error:
        fault = error.detail if isinstance(error, RunFault) else error.message
        return SanitizerAnswer(allocations=tuple(allocations), runs=runs, fault=fault)
    return SanitizerAnswer(allocations=tuple(allocations), runs=runs)


def main() -> None:
    """argv is the file of a SanitizerJob; the answer is left beside it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what kernels print
    path = Path(sys.argv[1])
    job = SanitizerJob.model_validate_json(path.read_bytes())
    signal.alarm(math.ceil(job.wall_s))  # the tool stands between us and whoever would end us
    register(Path(job.registry))
    answer = run_job(job)
    (path.parent / ANSWER).write_text(answer.model_dump_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
