"""The planner without a model: order, limits, no repetition, and what it explains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves import METHODS, MOVES, NotApplicable, State
from kernelwright.search.planning.planner import Context, Tried, run_planner
from kernelwright.search.planning.rules import explain, rules_planner

SOURCE = (
    "#define UNROLL 4\nvoid scale(float* out) { for (int i = 0; i < UNROLL; ++i) out[i] = TILE; }\n"
)


def context(
    wanted: int = 100, history: tuple[Tried, ...] = (), kernel_type: str = "cpp", **spec: Any
) -> Context:
    loaded = KernelSpec.model_validate(
        {
            "name": "scale",
            "kernel": {
                "kernel_type": kernel_type,
                "source_code": SOURCE,
                "metadata": {"kernel_name": "scale"},
            },
            "io": {
                "arguments": [{"name": "out", "role": "output", "dtype": "float32", "shape": [8]}]
            },
            "workloads": [{"name": "w", "symbols": {}}],
            "parameters": {"TILE": {"values": [1, 2, 4]}},
            "reference": "baseline",
        }
        | spec
    )
    state = State(loaded.kernel.kernel_type, SOURCE, {"TILE": 2}, BuildOptions(), loaded)
    return Context("s", "v", state, history=history, wanted=wanted)


def candidates(asked: Context) -> tuple[Candidate, ...]:
    result = run_planner(rules_planner, asked)
    assert isinstance(result, tuple)
    return result


def test_all_moves_that_fit_answer_without_a_question_best_prior_first() -> None:
    found = candidates(context())
    priors = [c.prior for c in found]
    assert priors == sorted(priors, reverse=True)
    answers = [(move.method, move.propose(context().state)) for move in MOVES]
    assert {c.method for c in found} == {
        method for method, answer in answers if not isinstance(answer, NotApplicable)
    }
    assert found == candidates(context())


def test_what_is_known_of_a_node_weighs_the_candidates_of_a_method() -> None:
    plain = candidates(context())
    weighed = candidates(replace(context(), weights={"tune_constants": 10.0}))
    assert weighed[0].method == "tune_constants" != plain[0].method
    assert {c.method: c.prior for c in weighed if c.method != "tune_constants"} == {
        c.method: c.prior for c in plain if c.method != "tune_constants"
    }


def test_what_has_no_chance_of_new_code_is_not_proposed() -> None:
    def chance(candidate: Candidate) -> float:
        return 0.0 if candidate.method == "compiler_flags" else 1.0

    assert "compiler_flags" in {c.method for c in candidates(context())}
    assert "compiler_flags" not in {
        c.method for c in candidates(replace(context(), new_code=chance))
    }


def test_no_more_candidates_than_wanted() -> None:
    assert candidates(context(wanted=2)) == candidates(context())[:2]


def test_what_was_tried_from_the_node_is_not_proposed_again_whatever_it_was_called() -> None:
    everything = candidates(context())
    found = next(c for c in everything if c.parameters is not None)
    again = found.model_copy(update={"method": "by hand", "prior": 9.0})
    spelled_out = Candidate(method="by hand", parameters={"TILE": 1})
    tried = (Tried(candidate=again), Tried(candidate=spelled_out))
    left = candidates(context(history=tried))
    assert len(left) == len(everything) - 2
    assert not any(c.method == "tune_parameters" for c in left)


def test_a_node_where_all_was_tried_has_nothing_more() -> None:
    tried = tuple(Tried(candidate=c) for c in candidates(context()))
    assert candidates(context(history=tried)) == ()


def test_every_method_of_the_catalogue_is_explained_by_candidates_or_a_reason() -> None:
    told = explain(context())
    assert [e.method for e in told] == [method.id for method in METHODS]
    assert all(bool(e.candidates) != bool(e.reason) for e in told)
    by_method = {e.method: e for e in told}
    assert len(by_method["tune_parameters"].candidates) == 2
    assert by_method["switch_to_mma_or_wgmma"].reason == "for triton and cuda, not cpp"
    assert "send a candidate" in (by_method["change_block_sizes"].reason or "")


def test_explanations_say_what_was_tried_and_why_a_move_does_not_fit() -> None:
    tried = tuple(
        Tried(candidate=c) for c in candidates(context()) if c.method == "tune_parameters"
    )
    told = {e.method: e for e in explain(context(history=tried))}
    assert told["tune_parameters"].tried == 2
    assert (told["tune_parameters"].reason or "").startswith(
        "all 2 candidates of this move were tried from this node"
    )
    told = {e.method: e for e in explain(context(parameters={}))}
    assert (told["tune_parameters"].reason or "").startswith("the spec declares no parameters")
    told = {e.method: e for e in explain(context(kernel_type="triton"))}
    assert told["compiler_flags"].reason == "for cpp, not triton"
