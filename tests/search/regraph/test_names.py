"""Free-text names of methods: told by rules, said by somebody, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.runners.errors import SpecError
from kernelwright.runners.model import Ending
from kernelwright.search.regraph.file import from_json, to_json
from kernelwright.search.regraph.labels import Label, joined, standing, targets
from kernelwright.search.regraph.posterior import Posteriors
from kernelwright.search.regraph.synonyms import meant, synonyms
from kernelwright.search.regraph.tallies import aggregate, merge
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.stored.experience import Experience, learned_now, regraph_of
from kernelwright.search.stored.naming import names_of, said_by_hand, say, taken_back
from kernelwright.server.cli import app
from kernelwright.store.store import STATE_FILE, Store

NAMES = ("my_trick", "their_trick", "our_trick")
LABELS = st.lists(
    st.builds(
        Label,
        name=st.sampled_from(NAMES),
        into=st.sampled_from((*NAMES, "increase_ilp", "")),
        by=st.sampled_from(("hand", "model")),
        time=st.sampled_from(("1", "2")),
    ),
    max_size=8,
)


def step(method: str, number: int = 0) -> Transition:
    return Transition(
        kernel_id="k",
        search_id=f"s{number}",
        arch="sm_90a",
        language="cuda",
        from_method="baseline",
        to_method=method,
        ending=Ending.faster,
        gain=1.0,
    )


def hand(name: str, into: str) -> Label:
    return Label(name=name, into=into, by="hand")


def test_words_mean_a_method_where_its_meaning_has_them_and_else_none() -> None:
    assert meant("several_independent_accumulators_unrolled")[0] == "increase_ilp"
    found = synonyms({"unroll_inner_loop_by_4": 1, "strassen_multiplication": 1})
    assert found["unroll_inner_loop_by_4"].into == "increase_ilp"
    assert "words alike" in found["unroll_inner_loop_by_4"].reason
    assert "strassen_multiplication" not in found


def test_a_name_that_says_the_opposite_of_a_method_does_not_mean_it() -> None:
    assert meant("increase_register_pressure_spills") == ("", 0.0)


def test_a_new_name_grows_what_later_ones_may_mean() -> None:
    found = synonyms({"winograd_transform": 5, "winograd_transforms": 1})
    assert found["winograd_transforms"].into == "winograd_transform"


def test_what_is_said_of_a_name_counts_it_as_that_and_the_sums_stay_as_they_were() -> None:
    rows = [step("my_trick"), step("increase_ilp", 1)]
    before = aggregate(rows)
    after = aggregate(rows, labels=[hand("my_trick", "increase_ilp")])
    assert Posteriors(before).methods == ("increase_ilp", "my_trick")
    assert Posteriors(after).measured(method="increase_ilp").tally.count == 2
    assert after.searches == before.searches
    undone = aggregate(rows, labels=[hand("my_trick", "increase_ilp"), hand("my_trick", "")])
    assert undone == before and undone.digest == before.digest != after.digest


def test_one_that_rules_merge_is_a_method_of_its_own_once_that_is_said() -> None:
    counts = {"smem_tiling": 1}
    assert synonyms(counts)["smem_tiling"].into == "shared_memory_tiling"
    assert synonyms(counts, [hand("smem_tiling", "smem_tiling")]) == {}


def test_rules_follow_what_was_said_of_the_name_that_they_lead_to() -> None:
    found = synonyms({"smem_tiling": 1}, [hand("shared_memory_tiling", "register_tiling")])
    assert found["smem_tiling"].into == "register_tiling"


def test_a_models_word_does_not_go_over_one_by_hand_and_a_later_hand_goes_over_all() -> None:
    model = Label(name="my_trick", into="loop_order", by="model")
    mine = hand("my_trick", "increase_ilp")
    assert standing([mine, model]) == (mine,)
    assert standing([model, mine]) == (mine,)
    assert standing([model, mine, hand("my_trick", "")]) == (model,)


@given(LABELS)
@settings(max_examples=100, deadline=None)
def test_no_name_is_counted_as_one_that_counts_as_another(log: list[Label]) -> None:
    said = standing(log)
    into = {name: label.into for name, label in targets(said).items()}
    assert all(into.get(method, method) == method for method in into.values())
    found = synonyms(dict.fromkeys((*NAMES, "smem_tiling"), 1), said)
    assert not {each.into for each in found.values()} & set(found)


@given(LABELS, LABELS, LABELS)
@settings(max_examples=60, deadline=None)
def test_labels_are_merged_in_any_order_and_twice_is_once(
    a: list[Label], b: list[Label], c: list[Label]
) -> None:
    one, two, three = (aggregate([step("my_trick")], labels=each) for each in (a, b, c))
    assert merge(one, two) == merge(two, one)
    assert merge(one, merge(two, three)) == merge(merge(one, two), three)
    assert merge(one, one) == one
    assert joined(one.labels) == one.labels
    assert from_json(to_json(one)) == one


@pytest.fixture
def outdir(tmp_path: Path) -> Path:
    """A state folder in which two names were tried."""
    with Store.open(tmp_path / STATE_FILE) as store, store.transaction() as writer:
        for number, method in enumerate(("my_trick", "smem_tiling", "increase_ilp")):
            writer.append("transitions", step(method, number).model_dump(mode="json"))
    return tmp_path


def told(*words: object) -> str:
    result = CliRunner().invoke(app, ["regraph", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_names_are_listed_said_and_taken_back_on_the_command_line(outdir: Path) -> None:
    listed = told("names", outdir)
    assert "a method of its own" in listed and "alias by hand" in listed
    assert "increase_ilp" not in listed
    said = told("name", outdir, "my_trick", "--as", "Increase ILP", "--why", "it unrolls")
    assert said == "my_trick: counted as increase_ilp\n"
    assert "said by hand: it unrolls" in " ".join(told("names", outdir).split())
    assert told("name", outdir, "smem_tiling", "--own") == "smem_tiling: a method of its own\n"
    undone = told("name", outdir, "smem_tiling", "--undo")
    assert undone == "smem_tiling: counted as shared_memory_tiling\n"
    assert told("name", outdir, "my_trick", "--undo") == "my_trick: a method of its own\n"


def test_what_cannot_be_said_is_refused_with_what_can(outdir: Path) -> None:
    with Store.open(outdir / STATE_FILE) as store:
        graph = regraph_of(store)
    with pytest.raises(SpecError, match="no method called `your_trick`") as caught:
        said_by_hand(graph, "your_trick", "increase_ilp")
    assert "my_trick" in caught.value.valid
    with pytest.raises(SpecError, match="no method called `increas`"):
        said_by_hand(graph, "my_trick", "increas")
    with pytest.raises(SpecError, match="of the catalogue"):
        said_by_hand(graph, "increase_ilp", "my_trick")
    with pytest.raises(SpecError, match="nothing was said of `my_trick`"):
        taken_back(graph, "my_trick")


def test_a_search_goes_by_what_had_been_said_when_it_began(outdir: Path) -> None:
    with Store.open(outdir / STATE_FILE) as store:
        began = learned_now(store, "soft")
        say(store, [hand("my_trick", "increase_ilp")])
        place = "baseline", "", "sm_90a", "cuda"
        then = Experience(store, "k", began, "soft").weights(*place)
        now = Experience(store, "k", learned_now(store, "soft"), "soft").weights(*place)
        assert began.regraph == regraph_of(store, began.transitions, (), began.labels).digest
        assert [each.counted_as for each in names_of(regraph_of(store))] == [
            "increase_ilp",
            "shared_memory_tiling",
        ]
    assert then["my_trick"] != now["my_trick"] == now["increase_ilp"]
