"""What a search expects of moves whose builds met machine code that it knew."""

from __future__ import annotations

import pytest
from search_landscape import ROOT, context_of, measured, new_graph

from kernelwright.runners.model import BuildOptions, Candidate, Ending, Evaluation
from kernelwright.search.engine.admission import GAVE_KNOWN_CODE
from kernelwright.search.engine.decisions import Pruned
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Evaluate, Outcome, Stopped
from kernelwright.search.graph.known_code import ENOUGH, KnownCode
from kernelwright.search.graph.records import edge_record, graph_from_records, node_record
from kernelwright.search.planning.planner import Context, PlannerRun
from kernelwright.search.session.candidate_result import CandidateResult
from kernelwright.search.settings import Settings

FLAGS = tuple(
    Candidate(
        method="compiler_flags", detail=f"-f{n}", options=BuildOptions(flags=(f"-f{n}",)), prior=0.3
    )
    for n in range(4)
)
REWRITES = tuple(
    Candidate(method="unroll", detail=f"loop {n}", source=f"int f{n};", prior=0.1) for n in range(3)
)


def all_at_once(_: Context) -> PlannerRun:
    yield from ()
    return (*FLAGS, *REWRITES)


def engine_of_rules() -> Engine:
    engine = Engine(new_graph(), Settings(budget_builds=20), all_at_once, context_of)
    engine.graph.known_code.heeded = True
    return engine


def order_of(engine: Engine, known: str, steps: int) -> list[str]:
    """What is evaluated one after the other where a method only gives the code of the baseline."""
    found = list[str]()
    for number in range(steps):
        work = engine.next_work()
        assert isinstance(work, Evaluate)
        method = work.candidate.method
        found.append(method)
        twin = ROOT if method == known else None
        engine.record(work.edge_id, measured(1.0, f"v{number}", same_code_as=twin))
    return found


def test_after_one_flag_that_changed_nothing_every_rewrite_comes_before_the_next() -> None:
    order = order_of(engine_of_rules(), "compiler_flags", 5)
    assert order == ["compiler_flags", "unroll", "unroll", "unroll", "compiler_flags"]


def test_flags_that_give_new_code_keep_their_place() -> None:
    assert order_of(engine_of_rules(), "none", 4) == ["compiler_flags"] * 4


def test_words_that_gave_known_code_often_enough_close_wherever_they_wait() -> None:
    """Also those that were proposed before, at any node; the search ends once nothing else is
    left, and says of each what was put aside and why."""
    again = (*FLAGS[:1], *REWRITES)

    def the_flag_everywhere(_: Context) -> PlannerRun:
        yield from ()
        return again

    engine = Engine(
        new_graph(), Settings(budget_builds=30, patience=99), the_flag_everywhere, context_of
    )
    engine.graph.known_code.heeded, engine.log = True, []
    tried = 0
    while isinstance(work := engine.next_work(), Evaluate):
        known = work.candidate == FLAGS[0]
        tried += known
        where = ROOT if known else None
        engine.record(work.edge_id, measured(1.0, f"v={work.edge_id[1:]}", same_code_as=where))
    assert isinstance(work, Stopped)
    assert tried == ENOUGH
    aside = [e for e in engine.graph.edges.values() if e.pruned]
    assert aside and {e.candidate.detail for e in aside} == {FLAGS[0].detail}
    told = [each for each in engine.log if isinstance(each, Pruned)]
    assert {each.edge for each in told} == {e.edge_id for e in aside}
    assert {each.why for each in told} == {GAVE_KNOWN_CODE}


def test_a_search_of_nothing_but_known_code_is_exhausted() -> None:
    def one_flag(_: Context) -> PlannerRun:
        yield from ()
        return FLAGS[:1]

    engine = Engine(new_graph(), Settings(budget_builds=20), one_flag, context_of)
    engine.graph.known_code.heeded = True
    for _ in range(ENOUGH):
        engine.graph.known_code.saw(engine.graph.add_edge(ROOT, FLAGS[0], 1.0), known=True)
        engine.graph.edges[f"e{len(engine.graph.edges) - 1:06d}"].state = "done"
    assert engine.graph.known_code.chance(FLAGS[0]) == 0
    work = engine.next_work()
    assert isinstance(work, Stopped)
    assert work.reason == "exhausted"


def test_what_was_asked_for_is_tried_in_its_order_whatever_code_it_gives() -> None:
    engine = engine_of_rules()
    engine.graph.known_code.heeded = False
    assert order_of(engine, "compiler_flags", 4) == ["compiler_flags"] * 4


def test_a_search_that_is_resumed_expects_the_same() -> None:
    engine = engine_of_rules()
    order_of(engine, "compiler_flags", 2)
    graph = engine.graph
    again = graph_from_records(
        [node_record(graph, n) for n in graph.nodes.values()],
        [edge_record(e) for e in graph.edges.values()],
    )
    again.known_code.heeded = True
    chances = [(graph.known_code.chance(c), again.known_code.chance(c)) for c in FLAGS + REWRITES]
    assert all(live == resumed for live, resumed in chances)
    assert {live for live, _ in chances} > {1.0}


def expected(seen: list[tuple[Candidate, bool]], candidate: Candidate) -> float:
    counts, graph = KnownCode(), new_graph()
    counts.heeded = True
    for each, known in seen:
        counts.saw(graph.add_edge(ROOT, each, 1.0), known=known)
    return counts.chance(candidate)


def test_a_method_falls_to_a_fifth_its_very_words_further_and_another_method_not_at_all() -> None:
    first, second, *_ = FLAGS
    assert expected([(first, True)], second) == pytest.approx(0.2)
    assert expected([(first, True)], first) == pytest.approx(0.04)
    assert expected([(first, True)], REWRITES[0]) == 1.0


def test_new_code_raises_what_known_code_lowered() -> None:
    first, second, third, _ = FLAGS
    low = expected([(first, True)], third)
    assert low < expected([(first, True), (second, False)], third) < 1.0


def test_words_that_gave_known_code_twice_and_new_code_never_are_put_aside() -> None:
    never, other = FLAGS[:2]
    assert expected([(never, True)], never) > 0
    assert expected([(never, True)] * ENOUGH, never) == 0
    assert expected([(never, True)] * ENOUGH, other) > 0
    assert expected([(never, True)] * ENOUGH + [(never, False)], never) > 0


def test_a_build_that_failed_says_nothing_of_the_code() -> None:
    engine = engine_of_rules()
    work = engine.next_work()
    assert isinstance(work, Evaluate)
    engine.record(work.edge_id, Outcome(Ending.build_failed, "v0", spent_build=True))
    assert engine.graph.known_code.chance(FLAGS[1]) == 1.0


def test_code_that_noise_kept_from_a_verdict_is_known_code() -> None:
    engine = engine_of_rules()
    for number, twin in enumerate((None, "v0")):
        work = engine.next_work()
        assert isinstance(work, Evaluate)
        noise = Outcome(
            Ending.unstable, f"v{number}", speedup=1.1, interval=(0.5, 2.0), same_code_as=twin
        )
        engine.record(work.edge_id, noise)
    assert "v1" not in engine.graph.nodes
    assert engine.graph.known_code.chance(FLAGS[2]) < 1.0


def test_known_code_costs_no_build_and_code_that_was_run_does() -> None:
    run = Evaluation(
        evaluation_id="v1/0001",
        variant_id="v1",
        kernel_id="k",
        ending=Ending.wrong,
        tier="native",
        message="",
    )
    shared = run.model_copy(update={"same_code_as": "v0"})
    costs = [CandidateResult("v1", each, known=False).builds for each in (run, shared)]
    assert costs == [1, 0]
