"""The search's own work on a graph that is made in bulk, small here; nobody looks at a clock."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.decisions import decisions, log_of

from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of
from kernelwright.search.stored.records import NeedsCandidates, SearchRecord, StepReport
from kernelwright.store.store import STATE_FILE, Store

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
Script = Callable[[str], Any]


def test_a_search_that_was_made_in_bulk_goes_on(script: Script, tmp_path: Path) -> None:
    bookkeeping = script("bookkeeping")
    made = bookkeeping.make(tmp_path, 1000, 50)
    result = bookkeeping.measure(tmp_path, 50)
    assert made["nodes"] == 1000
    assert result["steps"] == 50
    assert set(result["step_ms"]) == {"p50", "p99", "max"}
    with Store.open(tmp_path / STATE_FILE) as store:
        graph = graph_of(store, script("landscape_store").SEARCH_ID)
        steps = sorted(step for edge in graph.edges.values() for step in edge.steps)
        assert steps == list(range(result["evaluations"]))
        assert len(graph.nodes) > 1000
        for key, node in graph.nodes.items():
            # once for each link to it (the root was there), and for each walk on from it
            walked_on = sum(edge.visits for edge in graph.edges_of(key))
            assert node.visits == max(1, len(graph.links_to(key))) + walked_on
        assert store.count("variants") == len(graph.nodes)


def test_decisions_of_a_session_are_made_again_from_its_records(
    script: Script, tmp_path: Path
) -> None:
    script("bookkeeping").make(tmp_path, 2, 60)
    script("bookkeeping").measure(tmp_path, 60)
    with Store.open(tmp_path / STATE_FILE) as store:
        rows = [store.items(table) for table in ("searches", "nodes", "edges", "transitions")]
    searches, nodes, edges, transitions = ([value for _, value in each] for each in rows)
    own = SearchRecord.model_validate(searches[0]).settings
    log = log_of(own, nodes, edges, transitions)
    assert len(log.outcomes) > 60
    assert decisions(log, client=True) is None
    assert decisions(replace(log, settings=Settings(policy="random")), client=True) is not None


def test_a_question_whose_answer_brought_nothing_new_can_be_answered_again(
    script: Script, tmp_path: Path
) -> None:
    bookkeeping, landscape_store = script("bookkeeping"), script("landscape_store")
    landscape_store.write(tmp_path, 20, 50)
    with Workbench(tmp_path, [tmp_path]) as bench:
        bench.evaluator = bookkeeping.LookUp(bench.store, tmp_path, bench)
        with closing(SearchSession.resume(bench, landscape_store.SEARCH_ID)) as session:
            while not isinstance(asked := session.step(), NeedsCandidates):
                pass
            while not asked.question.tried:
                bookkeeping.answer(session, asked)
                while not isinstance(asked := session.step(), NeedsCandidates):
                    pass
            tried = asked.question.tried[0].candidate
            assert "dropped" in " ".join(session.answer(asked.ticket, (tried,)))
            again = session.step()
            assert isinstance(again, NeedsCandidates)
            assert again.ticket == asked.ticket
            bookkeeping.answer(session, again)
            assert isinstance(session.step(), StepReport)
