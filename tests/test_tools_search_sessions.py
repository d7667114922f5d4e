"""Searches that stay in memory between calls of `search_step`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kernelwright.search.settings import Settings
from kernelwright.tools.search_records import NeedsCandidates
from kernelwright.tools.search_session import SearchSession
from kernelwright.tools.search_sessions import MOST
from kernelwright.tools.search_step import SearchStepArguments, search_step
from kernelwright.tools.workbench import Workbench

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
Script = Callable[[str], Any]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return importlib.import_module


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


def test_a_lent_session_is_lent_to_nobody_else(bench: Workbench, search: str) -> None:
    session = bench.sessions.resume(bench, search)
    with bench.sessions.lent(session), closing(bench.sessions.resume(bench, search)) as other:
        assert other is not session


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


def test_who_commits_after_somebody_else_did_is_not_kept(
    bench: Workbench, search: str, script: Script
) -> None:
    session = bench.sessions.resume(bench, search)
    with bench.sessions.lent(session):
        with closing(SearchSession.resume(bench, search)) as other:
            advance(script, other)
        advance(script, session)
    assert bench.sessions.resume(bench, search) is not session


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
