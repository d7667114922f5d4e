"""Searches that stay in memory between calls of `search_step`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.errors import HandleUnknown, SearchBusy
from kernelwright.search.session.kept_sessions import MOST
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import NeedsCandidates
from kernelwright.search.stored.search_lock import LOCKS
from kernelwright.tools.inspect import InspectArguments, inspect_handle
from kernelwright.tools.search_step import SearchStepArguments, search_step

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
Script = Callable[[str], Any]


def opened(script: Script, folder: Path) -> Workbench:
    bench = Workbench(folder, [folder])
    bench.evaluator = script("bookkeeping").LookUp(bench.store, folder, bench)
    return bench


@pytest.fixture
def search(script: Script, tmp_path: Path) -> str:
    """A search of 20 nodes in a store."""
    script("landscape_store").write(tmp_path, 20, 100)
    return script("landscape_store").SEARCH_ID


@pytest.fixture
def bench(script: Script, tmp_path: Path, search: str) -> Iterator[Workbench]:
    with opened(script, tmp_path) as found:
        yield found


def advance(script: Script, session: SearchSession, steps: int = 1) -> list[str | None]:
    """Variants of so many steps, every question answered."""
    found = list[str | None]()
    while len(found) < steps:
        report = session.step()
        if isinstance(report, NeedsCandidates):
            script("bookkeeping").answer(session, report)
        else:
            found.append(getattr(report, "variant_id", None))
    return found


def kernel_of(bench: Workbench) -> str:
    ((kernel_id, _),) = bench.store.items("kernels")
    return kernel_id


def used(bench: Workbench, search: str, script: Script) -> SearchSession:
    """The session of a search, lent for a step."""
    session = bench.sessions.resume(bench, search)
    with bench.sessions.lent(session):
        advance(script, session)
    return session


def test_the_next_call_finds_the_session_of_the_last(
    bench: Workbench, search: str, script: Script
) -> None:
    session = used(bench, search, script)
    search_step(bench, SearchStepArguments(search_id=search, steps=2))
    assert bench.sessions.resume(bench, search) is session


def test_of_two_sessions_of_a_search_one_has_work_under_way_and_the_other_is_refused(
    bench: Workbench, search: str, script: Script
) -> None:
    """Each would write over the edges of the other."""
    with closing(SearchSession.resume(bench, search)) as session:
        before = session.status().evaluations
        advance(script, session)
        with pytest.raises(SearchBusy, match=rf"{search} is under way in process {os.getpid()} "):
            SearchSession.resume(bench, search)
        advance(script, session)
    with closing(SearchSession.resume(bench, search)) as other:
        advance(script, other)
        assert other.status().evaluations == before + 3


def test_a_lent_session_is_lent_to_nobody_else(bench: Workbench, search: str) -> None:
    session = bench.sessions.resume(bench, search)
    with bench.sessions.lent(session), pytest.raises(SearchBusy):
        bench.sessions.resume(bench, search)
    assert bench.sessions.resume(bench, search) is session


def test_a_kept_session_leaves_its_search_to_others(
    bench: Workbench, search: str, script: Script
) -> None:
    used(bench, search, script)
    with closing(SearchSession.resume(bench, search)), pytest.raises(SearchBusy):
        bench.sessions.resume(bench, search)
    bench.sessions.resume(bench, search)


def test_a_search_that_is_under_way_can_be_looked_at(
    bench: Workbench, search: str, script: Script
) -> None:
    with closing(SearchSession.resume(bench, search)) as session:
        advance(script, session)
        seen = inspect_handle(bench, InspectArguments(what="search", id=search)).facts
        assert seen is not None and seen["evaluations"] == session.status().evaluations


def test_a_new_search_is_held_by_who_started_it(bench: Workbench) -> None:
    with closing(SearchSession.start(bench, kernel_of(bench), Settings(), "client")) as session:
        with pytest.raises(SearchBusy):
            SearchSession.resume(bench, session.search_id)


def test_a_holder_that_was_killed_is_in_nobodys_way(
    bench: Workbench, search: str, tmp_path: Path
) -> None:
    holding = (
        "import sys; from pathlib import Path; "
        "from kernelwright.search.stored.search_lock import SearchLock; "
        "hold = SearchLock(Path(sys.argv[1]), sys.argv[2]); hold.take(); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(tmp_path), search],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        with pytest.raises(SearchBusy, match=f"process {holder.pid} "):
            SearchSession.resume(bench, search)
        holder.kill()
    SearchSession.resume(bench, search).close()


def test_a_search_that_is_not_there_leaves_no_file(bench: Workbench) -> None:
    with pytest.raises(HandleUnknown):
        SearchSession.resume(bench, "snowhere")
    assert not (bench.outdir / LOCKS / "snowhere").exists()


def test_a_session_is_read_anew_once_another_process_has_written_to_its_search(
    bench: Workbench, search: str, script: Script, tmp_path: Path
) -> None:
    session = used(bench, search, script)
    with opened(script, tmp_path) as elsewhere:
        theirs = used(elsewhere, search, script)
        again = bench.sessions.resume(bench, search)
        assert again is not session
        assert again.status() == theirs.status()


def test_a_new_budget_is_seen_by_who_kept_the_search(
    bench: Workbench, search: str, script: Script
) -> None:
    used(bench, search, script)
    SearchSession.resume(bench, search, budget_builds=7).close()
    assert bench.sessions.resume(bench, search).status().budget == 7


def test_a_session_whose_step_raised_is_read_anew(bench: Workbench, search: str) -> None:
    session = bench.sessions.resume(bench, search)
    with pytest.raises(OSError, match="full"), bench.sessions.lent(session):
        raise OSError("the disk is full")
    assert bench.sessions.resume(bench, search) is not session


def test_the_longest_unused_of_too_many_is_closed(
    bench: Workbench, search: str, script: Script
) -> None:
    first = used(bench, search, script)
    last = first
    for _ in range(MOST):
        last = SearchSession.start(bench, first.record.kernel_id, Settings(), "client")
        with bench.sessions.lent(last):
            last.step()
    assert bench.sessions.resume(bench, last.search_id) is last
    assert bench.sessions.resume(bench, search) is not first


def test_kept_and_resumed_sessions_make_the_same_steps(script: Script, tmp_path: Path) -> None:
    def steps(folder: Path, keep: bool) -> list[str | None]:
        folder.mkdir()
        script("landscape_store").write(folder, 20, 100)
        search, found = script("landscape_store").SEARCH_ID, list[str | None]()
        with opened(script, folder) as bench:
            for _ in range(15):
                session = bench.sessions.resume(bench, search)
                with bench.sessions.lent(session):
                    found += advance(script, session, 2)
                if not keep:
                    bench.sessions.close()
        return found

    assert steps(tmp_path / "kept", True) == steps(tmp_path / "resumed", False)
