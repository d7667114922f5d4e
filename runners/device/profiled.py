"""Runs a variant for ncu: some runs to warm up, then the one that is profiled.

`python -m kernelwright.runners.device.profiled JOB`. The profiler waits for `cuProfilerStart`, so
that it sees the launches of one run and nothing of the warm-up or of setup. It replays each launch
many times by itself and restores what it wrote.
"""

from __future__ import annotations

from ..profiling.messages import ProfileAnswer
from ..watched.messages import WatchedJob
from .cuda_driver import driver
from .cuda_driver.faults import DriverFault, RunFault
from .watched import Shape, answer_job

WARM_RUNS = 3
"""clocks are as they are (`--clock-control none`), so these are for code and tables to be loaded"""


def run_job(job: WatchedJob) -> ProfileAnswer:
    """Run its one shape; the last run between the start and the stop of profiling."""
    try:
        driver.make_current()
        (watched,) = job.shapes
        shape = Shape(watched, job.modules, driver.make_stream())
        code, bound = shape.bind()
        for number in range(WARM_RUNS + 1):
            shape.upload_inputs()
            shape.enqueue(bound.setup)
            driver.synchronize()
            if number == WARM_RUNS:
                driver.start_profiling()
            shape.enqueue(bound.steps)
            driver.synchronize()
        driver.stop_profiling()
        code.close()
        shape.close()
    except (DriverFault, RunFault) as error:
        fault = error.detail if isinstance(error, RunFault) else error.message
        return ProfileAnswer(fault=fault)
    return ProfileAnswer(finished=True)


if __name__ == "__main__":
    answer_job(run_job)
