"""Runs a variant on buffers of exactly the size that its plan asks for, watched by
compute-sanitizer.

`python -m kernelwright.runners.device.sanitized JOB`. Every buffer is an allocation of its own, so
that an access beyond it is seen; outputs and scratch are left unwritten, so that a read of them is.
Each shape runs twice, the second time on what the first has left in all but its inputs. Nothing is
looked at: what the tool found, and an answer that says how far this came, is all that comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..sanitizer.messages import Allocation, SanitizerAnswer
from ..watched.messages import Watched, WatchedJob
from .cuda_driver import driver
from .cuda_driver.faults import DriverFault, RunFault
from .watched import Shape, answer_job

RUNS = 2


def run_job(job: WatchedJob) -> SanitizerAnswer:
    """Run all shapes, up to the first that the driver refuses or that fails."""
    allocations, runs = list[Allocation](), 0
    try:
        driver.make_current()
        stream = driver.make_stream()
        for watched in job.shapes:
            shape = Shape(watched, job.modules, stream)
            allocations += _allocations(watched, shape)
            for _ in _runs(shape):
                runs += 1
            shape.close()
    except (DriverFault, RunFault) as error:
        fault = error.detail if isinstance(error, RunFault) else error.message
        return SanitizerAnswer(allocations=tuple(allocations), runs=runs, fault=fault)
    return SanitizerAnswer(allocations=tuple(allocations), runs=runs)


def _allocations(watched: Watched, shape: Shape) -> list[Allocation]:
    """Where each buffer of the plan lies."""
    plan, at = watched.plan, shape.addresses
    return [
        Allocation(shape=plan.label, buffer=b.name, address=at[b.name], nbytes=b.nbytes)
        for b in plan.buffers
    ]


def _runs(shape: Shape) -> Iterator[None]:
    """Run the plan RUNS times; gives control back after each. Raises DriverFault, RunFault.

    Setup once alone: who calls a kernel twice does not prepare its buffers twice.
    """
    code, bound = shape.bind()
    for number in range(RUNS):
        shape.upload_inputs()
        shape.enqueue((*(bound.setup if number == 0 else ()), *bound.steps))
        driver.synchronize()
        yield
    code.close()


if __name__ == "__main__":
    answer_job(run_job)
