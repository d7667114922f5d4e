"""Two searches of one kernel, run for real: what the first learned, the second uses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lift import load

from kernelwright.runners.model import Ending
from kernelwright.search.regraph.posterior import Posteriors
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.experience import import_regraph, regraph_of
from kernelwright.search.stored.recalling import recall
from kernelwright.search.stored.records import SearchStopped
from kernelwright.tools.inspect import InspectArguments, inspect_handle
from kernelwright.tools.propose_moves import ProposeMovesArguments, propose_moves


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("regraph")
    with Workbench(folder / "out", [folder]) as opened:
        opened.evaluator.open(load(folder))
        yield opened


@pytest.fixture(scope="module")
def searches(bench: Workbench) -> tuple[SearchSession, SearchSession]:
    """A search of five evaluations, and a second one after it."""
    kernel_id = next(iter(bench.store.table("kernels")))
    first = search(bench, kernel_id)
    return first, search(bench, kernel_id)


def search(bench: Workbench, kernel_id: str) -> SearchSession:
    session = SearchSession.start(bench, kernel_id, Settings(budget_builds=5))
    for _ in range(5):
        if isinstance(session.step(), SearchStopped):
            break
    session.close()
    return session


def rows(bench: Workbench, search_id: str) -> list[Transition]:
    found = (Transition.model_validate(row) for _, row in bench.store.items("transitions"))
    return [row for row in found if row.search_id == search_id]


def test_a_transition_tells_times_gain_and_what_was_known_before(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, _ = searches
    steps = rows(bench, first.search_id)
    assert len(steps) == 5
    for step in steps:
        assert step.language == "cpp" and step.arch == "native"
        if step.ending.measured:
            assert step.ms.keys() == step.baseline_ms.keys() == {"usual"}
            assert step.gain is not None and step.gain_interval is not None
            assert step.gain_interval[0] <= step.gain <= step.gain_interval[1]
            assert step.reward is not None
        elif step.ending is not Ending.lost:
            assert step.ms == {} and step.gain is None


def test_a_second_search_builds_nothing_that_the_first_has_built(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, second = searches
    earlier = {row.variant_id for row in rows(bench, first.search_id) if row.ending.final}
    edges = [edge for _, edge in bench.store.items("edges", second.search_id + "/")]
    again = [edge for edge in edges if edge["child"] in earlier]
    assert again
    assert all(edge["builds"] == 0 for edge in again)


def test_a_step_that_the_first_search_made_is_repeated_in_the_second(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, second = searches
    made = {(r.parent, r.variant_id) for r in rows(bench, first.search_id) if r.ending.final}
    assert not any(row.repeated for row in rows(bench, first.search_id))
    later = rows(bench, second.search_id)
    assert [row.repeated for row in later] == [(r.parent, r.variant_id) in made for r in later]
    assert any(row.repeated for row in later)


def test_the_regraph_of_both_searches_tells_which_method_was_tried_after_which(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    graph = regraph_of(bench.store)
    assert searches[0].search_id in {each.search_id for each in graph.searches}
    known = Posteriors(graph)
    first, _ = searches
    methods = {row.variant_id: row.to_method for row in rows(bench, first.search_id)}
    for row in rows(bench, first.search_id):
        previous = methods.get(row.parent, "baseline")
        assert row.ending is Ending.lost or (previous, row.to_method) in known.edges
    assert known.measured().tally.count == sum(
        row.ending is not Ending.lost and not row.repeated
        for each in searches
        for row in rows(bench, each.search_id)
    )


def test_a_search_knows_what_there_was_when_it_began_also_when_it_is_resumed(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, second = searches
    assert first.record.learned.transitions == "" and second.record.learned.transitions != ""
    began = second.record.learned
    import_regraph(bench.store, regraph_of(bench.store))
    resumed = SearchSession.resume(bench, second.search_id).record.learned
    assert resumed == began
    assert regraph_of(bench.store, began.transitions, began.imports).digest == began.regraph
    assert [each.search_id for each in regraph_of(bench.store, began.transitions, ()).searches] == [
        first.search_id
    ]


def test_importing_what_is_known_changes_nothing(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    before = regraph_of(bench.store)
    import_regraph(bench.store, before)
    assert regraph_of(bench.store) == before


def test_the_kernel_remembers_each_idea_of_both_searches_once(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, second = searches
    memory = recall(bench.store, first.record.kernel_id)
    assert {each.search_id for each in memory.lessons} >= {first.search_id}
    root = bench.evaluator.kernel(first.record.kernel_id).baseline
    here = [idea for idea in memory.at(root).ideas if idea.here]
    assert here and len({(i.method, i.changed) for i in here}) == len(here)
    question = second.context(root)
    assert question.memory.ideas


def test_proposals_tell_what_paid_before_and_what_was_tried_from_here(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    kernel_id = searches[0].record.kernel_id
    told = propose_moves(bench, ProposeMovesArguments(kernel_id=kernel_id, variant_id="baseline"))
    steps = [row for each in searches for row in rows(bench, each.search_id)]
    tried = {row.to_method for row in steps if row.from_method == "baseline"}
    assert {line.partition(":")[0] for line in told.neighbours} <= tried
    assert told.neighbours and told.history
    whys = [move.why for move in (*told.moves, *told.by_hand) if move.method in tried]
    assert all("measured after baseline" in why for why in whys)


def test_inspect_shows_ideas_steps_and_rules(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, _ = searches
    kernel_id = first.record.kernel_id
    ideas = inspect_handle(bench, InspectArguments(what="memory", id=kernel_id, part="ideas"))
    assert ideas.entries and {"method", "changed", "times", "ending"} <= ideas.entries[0].keys()
    steps = inspect_handle(bench, InspectArguments(what="regraph"))
    assert steps.entries and steps.entries[0]["kernels"].keys() == {kernel_id}
    rules = inspect_handle(bench, InspectArguments(what="regraph", part="rules"))
    assert rules.entries is not None


def test_a_search_that_is_told_to_ignores_the_regraph(
    bench: Workbench, searches: tuple[SearchSession, SearchSession]
) -> None:
    first, _ = searches
    kernel_id = first.record.kernel_id
    off = SearchSession.start(bench, kernel_id, Settings(regraph="off"))
    soft = SearchSession.start(bench, kernel_id, Settings())
    assert off.record.learned.regraph == "" != soft.record.learned.regraph
    root = bench.evaluator.kernel(kernel_id).baseline
    assert off.context(root).weights != soft.context(root).weights
