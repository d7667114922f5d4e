"""What a job writes down while it runs."""

from __future__ import annotations

from pathlib import Path

from kernelwright.runners.model import Record
from kernelwright.server.jobs import Jobs
from kernelwright.tools import progress
from kernelwright.tools.base import Tool, WorkArguments
from kernelwright.tools.job import wait_for
from kernelwright.tools.workbench import Workbench


class Written(Record):
    """What was in the job's record after each word."""

    progress: tuple[str, ...]


def work(bench: Workbench, _: WorkArguments) -> Written:
    """Work that tells of itself.

    Example: {}
    """
    seen = list[str]()

    def look() -> None:
        ((_, job),) = bench.store.items("jobs")
        seen.append(job["progress"])

    progress.report("building")
    look()
    progress.found("configuration 1 of 2: 3x the baseline")
    look()
    progress.report("checking")
    look()
    return Written(progress=tuple(seen))


def test_who_asks_for_a_job_now_and_then_does_not_miss_what_was_found_last(tmp_path: Path) -> None:
    tool = Tool(
        name="work",
        title="Work",
        run=work,
        arguments=WorkArguments,
        result=Written,
        read_only=False,
        work=True,
    )
    with Workbench(tmp_path, [tmp_path]) as bench:
        jobs = Jobs(bench, (tool,))
        job = wait_for(bench.store, jobs.submit(tool, WorkArguments()), seconds=60)
        jobs.stop()
    assert job.result is not None and job.result["progress"] == [
        "building",
        "configuration 1 of 2: 3x the baseline",
        "configuration 1 of 2: 3x the baseline; now checking",
    ]
