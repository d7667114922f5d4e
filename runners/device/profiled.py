"""Runs a variant for ncu: some runs to warm up, then the one that is profiled.

`python -m kernelwright.runners.device.profiled JOB`. The profiler waits for `cuProfilerStart`, so
that it sees the launches of one run and nothing of the warm-up or of setup. It replays each launch
many times by itself and restores what it wrote.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from pathlib import Path

from ..profiling.messages import ANSWER, ProfileAnswer, ProfileJob
from . import driver
from .faults import DriverFault, RunFault
from .registry import register
from .sanitized import Shape

WARM_RUNS = 3
"""clocks are as they are (`--clock-control none`), so these are for code and tables to be loaded"""


def run_job(job: ProfileJob) -> ProfileAnswer:
    """Run the shape; the last run between the start and the stop of profiling."""
    try:
        driver.make_current()
        shape = Shape(job.shape, job.modules, driver.make_stream())
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


def main() -> None:
    """argv is the file of a ProfileJob; the answer is left beside it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what kernels print
    path = Path(sys.argv[1])
    job = ProfileJob.model_validate_json(path.read_bytes())
    signal.alarm(math.ceil(job.wall_s))  # the tool stands between us and whoever would end us
    register(Path(job.registry))
    answer = run_job(job)
    (path.parent / ANSWER).write_text(answer.model_dump_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
