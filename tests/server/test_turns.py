"""Clients take turns: whoever asks for much holds up nobody who asks for little."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners import progress
from kernelwright.runners.model import Record
from kernelwright.search.session.workbench import Workbench
from kernelwright.server.work.jobs import Jobs
from kernelwright.server.work.turns import Turns
from kernelwright.store.job_rows import job_record
from kernelwright.store.jobs import JobRecord, JobState, Owner
from kernelwright.tools.base import Tool, WorkArguments
from kernelwright.tools.job import wait_for
from kernelwright.tools.parts.jobs import reply_of, waiting_before


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30))
def test_clients_that_wait_are_served_in_turn(asked: list[str]) -> None:
    turns, left = Turns(), Counter(asked)
    queue = sorted((turns.drawn(client), number, client) for number, client in enumerate(asked))
    served = Counter[str]()
    for turn, _, client in queue:
        turns.served(turn)
        served[client] += 1
        waiting = [each for each in left if served[each] < left[each]]
        assert all(served[each] >= served[client] - 1 for each in waiting)


@given(st.integers(1, 20))
def test_who_did_not_ask_saves_up_nothing(before: int) -> None:
    turns = Turns()
    for _ in range(before):
        turns.served(turns.drawn("a"))
    late, next_of_a = turns.drawn("b"), turns.drawn("a")
    assert next_of_a - late <= 1, "b is not served many times before a"


def test_the_jobs_before_each_are_those_of_its_own_process_that_run_or_come_first() -> None:
    here, there = Owner(pid=1, started=1), Owner(pid=2, started=1)

    def job(name: str, owner: Owner, turn: int, state: JobState = "queued") -> JobRecord:
        return JobRecord(
            job_id=name, tool="", arguments={}, owner=owner, submitted_at="", turn=turn, state=state
        )

    known = [
        job("j4", here, 7),
        job("j3", here, 2),
        job("j1", here, 9, "running"),
        job("j2", here, 0, "done"),
        job("j5", there, 1),
    ]
    assert waiting_before(known) == {"j3": 1, "j4": 2, "j5": 0}


class Named(WorkArguments):
    """Which job it is."""

    name: str
    slices: int = 1


class Nothing(Record):
    """No result."""


class Diary:
    """A tool that writes down what is done when, and begins when it is let."""

    def __init__(self) -> None:
        self.done = list[str]()
        self.begins = Event()

    def tool(self) -> Tool[Any, Any]:
        def work(_: Workbench, arguments: Named) -> Nothing:
            """Work in slices.

            Example: {"name": "a1"}
            """
            assert self.begins.wait(30)
            for left in range(arguments.slices, 0, -1):
                progress.checkpoint(arguments.model_copy(update={"slices": left}))
                self.done.append(arguments.name)
            return Nothing()

        return Tool(
            name="work",
            title="Work",
            search_hint="work",
            run=work,
            arguments=Named,
            result=Nothing,
            read_only=False,
            work=True,
        )


def test_a_client_that_asks_for_one_thing_waits_for_one_of_another_client(tmp_path: Path) -> None:
    diary = Diary()
    bench = Workbench(tmp_path, [tmp_path])
    jobs = Jobs(bench, (diary.tool(),))
    many = [jobs.submit(diary.tool(), Named(name=f"a{n}"), client="a") for n in range(4)]
    one = jobs.submit(diary.tool(), Named(name="b"), client="b")
    assert reply_of(bench, job_record(bench.store, one)).ahead == 1
    diary.begins.set()
    assert all(wait_for(bench, each, 30).state == "done" for each in (*many, one))
    assert diary.done == ["a0", "b", "a1", "a2", "a3"]
    jobs.stop()
    bench.close()


def test_long_work_gives_way_at_its_checkpoints_and_goes_on(tmp_path: Path) -> None:
    diary = Diary()
    bench = Workbench(tmp_path, [tmp_path])
    jobs = Jobs(bench, (diary.tool(),), turn_s=0.0)
    long = jobs.submit(diary.tool(), Named(name="long", slices=3), client="a")
    one = jobs.submit(diary.tool(), Named(name="b"), client="b")
    own = jobs.submit(diary.tool(), Named(name="a's own"), client="a")
    diary.begins.set()
    ended = [wait_for(bench, each, 30) for each in (long, one, own)]
    assert [each.state for each in ended] == ["done"] * 3
    assert diary.done == ["long", "b", "a's own", "long", "long"]
    assert ended[0].attempts == 1, "giving way is no attempt"
    jobs.stop()
    bench.close()
