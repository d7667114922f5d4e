"""What several verbs say of kernels and variants."""

from __future__ import annotations

import pytest

from kernelwright.runners.gates import ENDINGS
from kernelwright.runners.gates.incumbent import ANEW, FRESH, SHAPES, STRESS
from kernelwright.runners.model import Ending, GateResult, KernelFacts
from kernelwright.runners.specs.spec import Workload
from kernelwright.runners.wording import shortened
from kernelwright.tools.parts.describing import ADVICE, advice, gates_in_short, visible_kernels

WORKLOADS = (
    Workload(name="large", symbols={"n": 4096}),
    Workload(name="ragged", symbols={"n": 4097}, held_out=True),
)


def test_shapes_that_are_held_out_are_not_shown_nor_the_kernels_for_them_alone() -> None:
    kernels = [
        KernelFacts(entry="add", registers=20, shapes=("large", "ragged")),
        KernelFacts(entry="add", registers=30, shapes=("ragged",)),
        KernelFacts(entry="add", registers=40, shapes=("odd",)),
    ]
    shown = visible_kernels(kernels, WORKLOADS)
    assert [(k.registers, k.shapes) for k in shown] == [(20, ("large",)), (40, ("odd",))]


def test_kernels_whose_shapes_nobody_noted_are_shown() -> None:
    kernel = KernelFacts(entry="add")
    assert visible_kernels([kernel], WORKLOADS) == (kernel,)


def failed(gate: str, message: str = "") -> tuple[GateResult, ...]:
    passed = GateResult(gate="static_screen", outcome="passed")
    return (passed, GateResult(gate=gate, outcome="failed", message=message))


@pytest.mark.parametrize("ending", Ending)
def test_every_ending_is_followed_by_advice(ending: Ending) -> None:
    assert advice(ending) == ADVICE[ending]


@pytest.mark.parametrize("gate", [ANEW, FRESH, SHAPES, STRESS, "sanitizer_racecheck"])
def test_a_gate_of_the_incumbent_set_has_advice_of_its_own_however_it_ends(gate: str) -> None:
    assert advice(Ending.wrong, failed(gate)) == advice(Ending.unsafe, failed(gate))
    assert advice(Ending.wrong, failed(gate)) not in ADVICE.values()


def test_gates_that_end_alike_and_mean_something_else_are_told_apart() -> None:
    cheated = [gate for gate, ending in ENDINGS.items() if ending == Ending.cheated]
    assert len({advice(Ending.cheated, failed(gate)) for gate in cheated}) == len(cheated) > 1


def test_an_output_that_is_not_a_number_may_be_one_that_nobody_wrote() -> None:
    found = failed("is_right", "on `usual`: NaN or Inf differs at y[0]: nan, not 3.4")
    assert "nobody wrote" in advice(Ending.wrong, found)
    assert "nobody wrote" not in advice(Ending.wrong, failed("is_right", "error 2 (allowed 1)"))


def test_gates_in_short_say_why_one_was_not_passed_and_show_no_evidence() -> None:
    gates = (
        GateResult(gate="is_right", outcome="passed", message="4 runs", evidence={"runs": 4}),
        GateResult(gate="obeys_physics", outcome="skipped", message="no datasheet"),
        GateResult(gate="survives_stress", outcome="failed", message="m" * 1000),
    )
    shown = gates_in_short(gates)
    assert shown["is_right"] == "passed"
    assert shown["obeys_physics"] == "skipped: no datasheet"
    assert shown["survives_stress"].startswith("failed: mmm") and len(str(shown)) < 400


def test_a_shortened_text_is_one_line_of_whole_words() -> None:
    assert shortened("one  two\nthree", 20) == "one two three"
    assert shortened("one two three four", 14) == "one two..."
    assert all(len(shortened("word " * 40, limit)) <= limit for limit in range(10, 60))
