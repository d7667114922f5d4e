"""What a job writes down while it runs, and what becomes of one that cannot write."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kernelwright.runners import progress
from kernelwright.runners.model import Record
from kernelwright.search.session.workbench import Workbench
from kernelwright.server.work.jobs import Jobs
from kernelwright.store.jobs import JobRecord
from kernelwright.store.store import Store
from kernelwright.tools.base import Tool, WorkArguments
from kernelwright.tools.inspect import InspectArguments, inspect_handle
from kernelwright.tools.job import JobArguments, job, wait_for


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


def worker(run: Callable[[Workbench, WorkArguments], Written]) -> Tool[Any, Any]:
    return Tool(
        name="work",
        title="Work",
        search_hint="work",
        run=run,
        arguments=WorkArguments,
        result=Written,
        read_only=False,
        work=True,
    )


def test_who_asks_for_a_job_now_and_then_does_not_miss_what_was_found_last(tmp_path: Path) -> None:
    tool = worker(work)
    with Workbench(tmp_path, [tmp_path]) as bench:
        jobs = Jobs(bench, (tool,))
        done = wait_for(bench, jobs.submit(tool, WorkArguments()), seconds=60)
        jobs.stop()
    assert done.result is not None and done.result["progress"] == [
        "building",
        "configuration 1 of 2: 3x the baseline",
        "configuration 1 of 2: 3x the baseline; now checking",
    ]


def test_a_job_whose_result_finds_no_room_has_failed_and_is_written_once_there_is(
    tmp_path: Path, connections: list[sqlite3.Connection]
) -> None:
    said = [2_000_000, 1]

    def long(_: Workbench, __: WorkArguments) -> Written:
        """Work with much to say, and little the next time.

        Example: {}
        """
        return Written(progress=("x" * said.pop(0),))

    with Workbench(tmp_path, [tmp_path]) as bench:
        tool = worker(long)
        jobs = Jobs(bench, (tool,))
        (pages,) = connections[0].execute("PRAGMA page_count").fetchone()
        connections[0].execute(f"PRAGMA max_page_count = {pages + 20}")
        failed = wait_for(bench, jobs.submit(tool, WorkArguments()), seconds=60)
        assert failed.state == "failed" and failed.result is None
        assert "The disk is full" in failed.error and "\nNext: free space on" in failed.error
        listed = job(bench, JobArguments(job_id=failed.job_id))
        assert (listed.status, listed.error) == ("failed", failed.error)
        assert bench.store.require("jobs", failed.job_id)["state"] == "running"

        again = wait_for(bench, jobs.submit(tool, WorkArguments()), seconds=60)
        assert again.state == "done" and again.job_id != failed.job_id
        assert bench.store.require_record("jobs", failed.job_id, JobRecord) == failed
        jobs.stop()


def test_ending_is_quiet_where_the_store_takes_nothing_more(
    tmp_path: Path, connections: list[sqlite3.Connection], caplog: pytest.LogCaptureFixture
) -> None:
    def last(_: Workbench, __: WorkArguments) -> Written:
        """Work, after which nothing can be written.

        Example: {}
        """
        connections[0].execute("PRAGMA query_only = 1")
        return Written(progress=())

    with Workbench(tmp_path, [tmp_path]) as bench:
        tool = worker(last)
        jobs = Jobs(bench, (tool,))
        failed = wait_for(bench, jobs.submit(tool, WorkArguments()), seconds=60)
        assert failed.state == "failed"
        jobs.stop()
    assert "could not be recorded" in caplog.text and "Traceback" not in caplog.text


def test_no_job_that_has_ended_is_read_unless_its_page_is_asked_for(tmp_path: Path) -> None:
    """One that nobody can read stands for all that lie there: what a call costs must not grow with
    them."""

    def silent(_: Workbench, __: WorkArguments) -> Written:
        """Work that tells nothing.

        Example: {}
        """
        return Written(progress=())

    tool = worker(silent)
    with Workbench(tmp_path, [tmp_path]) as bench:
        with bench.store.transaction() as writer:
            writer.put("jobs", "j0", {"state": "done", "told": "by another version"})
        jobs = Jobs(bench, (tool,))
        job_id = jobs.submit(tool, WorkArguments())
        assert wait_for(bench, job_id, seconds=60).state == "done"
        assert jobs.unfinished() == 0
        page = inspect_handle(bench, InspectArguments(what="jobs", limit=1))
        assert [each["job_id"] for each in page.entries or ()] == [job_id]
        assert (page.total, page.next_offset) == (2, 1)
        past = inspect_handle(bench, InspectArguments(what="jobs", offset=10**30))
        assert (past.entries, past.next_offset) == ((), None)
        with pytest.raises(ValidationError):
            inspect_handle(bench, InspectArguments(what="jobs", offset=1))
        jobs.stop()


def test_a_job_that_ends_while_its_process_leaves_the_others_stays_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_: Workbench, __: WorkArguments) -> Written:
        """Work that tells nothing.

        Example: {}
        """
        return Written(progress=())

    tool = worker(silent)
    with Workbench(tmp_path, [tmp_path]) as bench:
        jobs = Jobs(bench, (tool,))
        job_id = jobs.submit(tool, WorkArguments())
        done = wait_for(bench, job_id, seconds=60)
        seen = done.model_copy(update={"state": "running", "result": None, "finished_at": ""})

        def stale(_: Store) -> list[JobRecord]:
            return [seen]

        monkeypatch.setattr("kernelwright.server.work.jobs.unfinished_jobs", stale)
        jobs.stop()
        assert wait_for(bench, job_id, seconds=0) == done
