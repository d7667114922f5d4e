"""Nouns of the evaluator: what cannot be true cannot be built, and identity is content."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.runners.model import (
    BuildOptions,
    Candidate,
    Comparison,
    Ending,
    Evaluation,
    Ratio,
    Variant,
    content_hash,
    ordered,
)

RATIO = Ratio(over="v0", speedup=1.5, low=1.4, high=1.6, judgement="faster")
COMPARISON = Comparison(
    candidate="v1", ratios=(RATIO,), workloads=(), resolution=0.02, samples=9, seconds=0.5
)
MEASURED = [e for e in Ending if e.measured]
UNMEASURED = [e for e in Ending if not e.measured]


def evaluation(ending: Ending, **more: Any) -> Evaluation:
    return Evaluation(
        evaluation_id="e1",
        variant_id="v1",
        kernel_id="k1",
        ending=ending,
        tier="native",
        message="",
        **more,
    )


def test_exactly_what_was_timed_is_measured() -> None:
    assert {e.value for e in MEASURED} == {"slower", "tie", "faster", "unstable"}


def test_only_our_own_faults_and_noise_are_paid_for_again() -> None:
    assert {e.value for e in Ending if not e.final} == {"lost", "unstable"}


@pytest.mark.parametrize("ending", MEASURED)
def test_a_measured_ending_has_a_comparison(ending: Ending) -> None:
    assert evaluation(ending, comparison=COMPARISON, speedup=1.5).speedup == 1.5
    with pytest.raises(ValidationError, match=f"`{ending}` without a comparison"):
        evaluation(ending)


@pytest.mark.parametrize("ending", UNMEASURED)
def test_an_ending_that_was_not_measured_has_no_speedup(ending: Ending) -> None:
    assert evaluation(ending).speedup is None
    with pytest.raises(ValidationError, match="cannot have a speedup"):
        evaluation(ending, speedup=1.5)


def test_records_are_frozen_and_take_no_unknown_fields() -> None:
    with pytest.raises(ValidationError):
        evaluation(Ending.wrong).message = "other"
    with pytest.raises(ValidationError):
        evaluation(Ending.wrong, extra=1)


def test_an_evaluation_survives_its_json() -> None:
    made = evaluation(
        Ending.faster, comparison=COMPARISON, speedup=1.5, interval=(1.4, 1.6), seconds={"build": 1}
    )
    assert Evaluation.model_validate_json(made.model_dump_json()) == made


def test_a_comparison_finds_the_ratio_over_a_side() -> None:
    assert COMPARISON.over("v0") == RATIO
    assert COMPARISON.over("v2") is None


PARTS: list[dict[str, Any]] = [
    {"source": "void k();"},
    {"diff": "--- a\n+++ b\n"},
    {"plan": {"steps": []}},
    {"options": BuildOptions(flags=("-O2",))},
    {"parameters": {"TILE": 8}},
]


@pytest.mark.parametrize("part", PARTS)
def test_a_candidate_changes_at_least_one_thing(part: dict[str, Any]) -> None:
    assert Candidate(method="tile", **part).prior == 1.0


def test_a_candidate_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="source, diff, plan, options, parameters or knobs"):
        Candidate(method="tile")


def test_a_candidate_has_a_source_or_a_diff_but_not_both() -> None:
    with pytest.raises(ValidationError, match="source or diff, not both"):
        Candidate(method="tile", source="a", diff="b")


@pytest.mark.parametrize("field", ["source", "diff", "detail"])
def test_a_candidate_of_which_a_part_is_no_text_is_refused(field: str) -> None:
    parts = {"source": "a"} if field == "detail" else {}
    with pytest.raises(ValidationError, match=f"{field} holds half a surrogate pair"):
        Candidate.model_validate({"method": "tile", **parts, field: "x\ud800"})


@pytest.mark.parametrize("prior", [0, -1, float("inf"), float("nan")])
def test_a_prior_is_a_finite_weight_above_zero(prior: float) -> None:
    with pytest.raises(ValidationError, match="prior"):
        Candidate(method="tile", source="a", prior=prior)


@pytest.mark.parametrize("method", ["", "x" * 201])
def test_a_method_has_a_name_of_reasonable_length(method: str) -> None:
    with pytest.raises(ValidationError, match="method"):
        Candidate(method=method, source="a")


def variant(**changes: Any) -> Variant:
    fields: dict[str, Any] = {"kernel_id": "k1", "source": "void k();", "source_key": "abc"}
    fields |= {"parameters": {"TILE": 8, "ORDER": 1}}
    return Variant(**fields | changes)


def test_the_variant_id_follows_the_source_key_and_not_the_layout() -> None:
    assert variant(source="void  k( );").variant_id == variant().variant_id


def test_the_order_of_parameters_does_not_matter() -> None:
    assert variant(parameters={"ORDER": 1, "TILE": 8}).variant_id == variant().variant_id


@pytest.mark.parametrize(
    "change",
    [
        {"kernel_id": "k2"},
        {"source_key": "abd"},
        {"plan": {}},
        {"options": BuildOptions(compiler="g++")},
        {"options": BuildOptions(flags=())},
        {"parameters": {"TILE": 16, "ORDER": 1}},
        {"parameters": {"TILE": 8}},
        {"parameters": {}},
    ],
)
def test_every_other_content_changes_the_variant_id(change: dict[str, Any]) -> None:
    assert variant(**change).variant_id != variant().variant_id


def test_the_order_of_flags_matters() -> None:
    first, other = (BuildOptions(flags=f) for f in (("-O2", "-O3"), ("-O3", "-O2")))
    assert variant(options=first).variant_id != variant(options=other).variant_id


def test_the_variant_id_survives_json_and_has_a_fixed_form() -> None:
    made = variant()
    assert Variant.model_validate_json(made.model_dump_json()).variant_id == made.variant_id
    assert made.variant_id[0] == "v"
    assert len(made.variant_id) == 13


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_a_content_hash_does_not_depend_on_the_order_of_keys(value: dict[str, Any]) -> None:
    backwards = dict(reversed(value.items()))
    assert content_hash(backwards) == content_hash(value)


@given(JSON, JSON)
def test_different_contents_have_different_hashes(first: Any, other: Any) -> None:
    same = repr(first) == repr(other) or (first == other and not _has_bool(first, other))
    if not same:
        assert content_hash(first) != content_hash(other)


def _has_bool(*values: Any) -> bool:
    return any("True" in repr(v) or "False" in repr(v) for v in values)


@pytest.mark.parametrize("length", [8, 12, 64])
def test_a_content_hash_has_the_length_that_was_asked_for(length: int) -> None:
    assert len(content_hash({"a": 1}, length)) == length


def test_parameters_are_shown_in_the_order_of_their_names() -> None:
    assert ordered({"TILE": 64, "ORDER": 2}) == "ORDER=2 TILE=64"
    assert ordered({}) == ""


def test_a_process_that_times_kernels_makes_only_the_models_that_it_uses() -> None:
    program = (
        "import kernelwright.runners.native.process\n"
        "from kernelwright.runners.specs.spec import KernelSpec\n"
        "print(KernelSpec.__pydantic_complete__)\n"
        "KernelSpec.model_rebuild()\n"
        "print(KernelSpec.__pydantic_complete__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
