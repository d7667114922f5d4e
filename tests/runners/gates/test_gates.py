"""Gates: from what a run left behind to a result, in the order of suspicion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernelwright.runners.gates import ENDINGS, FIRST_SET, Gate, Run, ending_of, first_failure
from kernelwright.runners.model import Ending, GateResult
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.protocol.messages import RunResult

GATES = {gate.__name__: gate for gate in FIRST_SET}


def verdict(right: bool = True, largest: float = 0.5, allowed: float = 1.0) -> OutputVerdict:
    return OutputVerdict(
        name="y",
        right=right,
        largest=largest,
        allowed=allowed,
        rms=0.1,
        worst_index=(1, 2),
        worst_value="9",
        expected_value="1",
        message="" if right else "error 9 (allowed 1)",
    )


def run(timed: bool = False, verdicts: Any = None, shape: str = "big", **left: Any) -> Run:
    """A run on a secret seed that does the same on the public one."""
    result = RunResult(slot=0, poison=255, **left)
    found = Run(shape, timed, result, (verdict(),) if verdicts is None else verdicts)
    secret = tuple(each.secret() for each in found.verdicts)
    return replace(found, verdicts=secret, public=replace(found, timed=False))


CLEAN = [run(), run(timed=True)]
FAULTS: list[tuple[str, Run, str]] = [
    (
        "returns_in_time",
        run(verdicts=(), fault="no answer in 5 s", fault_kind="timed_out"),
        "on `big`: no answer in 5 s",
    ),
    (
        "does_not_crash",
        run(verdicts=(), fault="it ended", fault_kind="exited", said="exit status 3"),
        "on `big`: it ended; exit status 3",
    ),
    (
        "does_not_crash",
        run(verdicts=(), fault="signal 11", fault_kind="crashed"),
        "on `big`: signal 11",
    ),
    ("does_not_crash", run(verdicts=(), fault="code 3", fault_kind="exited"), "code 3"),
    ("does_not_crash", run(verdicts=(), fault="no symbol", fault_kind="load_failed"), "no symbol"),
    ("stays_in_its_buffers", run(overrun="8 bytes after y"), "it wrote 8 bytes after y"),
    ("stays_in_its_buffers", run(touched_gaps=("a", "y")), "it wrote between rows of a, y"),
    ("stays_in_its_buffers", run(timed=True, overrun="1 byte"), "it wrote 1 byte"),
    ("leaves_inputs_alone", run(changed_inputs=("x", "w")), "it changed x, w"),
    ("is_right", run(verdicts=(verdict(), verdict(False))), "on `big`: error 9"),
    ("is_right_while_timed", run(timed=True, verdicts=(verdict(False),)), "error 9"),
]


def test_what_nobody_could_look_at_after_a_fault_is_not_called_passed() -> None:
    ended = [run(verdicts=(), fault="no answer in 5 s", fault_kind="timed_out")]
    outcomes = {gate.__name__: gate(ended).outcome for gate in FIRST_SET}
    assert outcomes["returns_in_time"] == "failed"
    for name in ("stays_in_its_buffers", "leaves_inputs_alone", "is_right"):
        assert outcomes[name] == "skipped"
        assert GATES[name]([*ended, run()]).outcome == "passed", "one came back"


@pytest.mark.parametrize("gate", FIRST_SET, ids=lambda g: g.__name__)
def test_a_clean_run_passes_every_gate(gate: Gate) -> None:
    found = gate(CLEAN)
    assert found.gate == gate.__name__
    assert found.outcome == "passed"


@pytest.mark.parametrize(("gate", "broken", "words"), FAULTS)
def test_each_fault_fails_its_own_gate_first_wherever_it_occurs(
    gate: str, broken: Run, words: str
) -> None:
    for runs in ([broken, *CLEAN], [*CLEAN, broken], [CLEAN[0], broken, CLEAN[1]]):
        failure = first_failure([g(runs) for g in FIRST_SET])
        assert failure is not None
        assert failure.gate == gate
        assert words in failure.message
        assert "`big`" in failure.message
        evidence = {k: failure.evidence[k] for k in ("shape", "timed", "poison")}
        assert evidence == {"shape": "big", "timed": broken.timed, "poison": "number"}


@pytest.mark.parametrize(("gate", "broken", "_"), FAULTS)
def test_no_other_gate_fails_on_it(gate: str, broken: Run, _: str) -> None:
    others = [g for name, g in GATES.items() if name != gate]
    assert all(g([*CLEAN, broken]).outcome == "passed" for g in others)


def test_the_gates_go_from_never_ran_to_merely_wrong() -> None:
    assert list(GATES) == [
        "returns_in_time",
        "does_not_crash",
        "stays_in_its_buffers",
        "leaves_inputs_alone",
        "is_right",
        "is_right_while_timed",
    ]


def test_a_kernel_with_every_fault_is_judged_by_the_first_gate() -> None:
    results = [g([broken for _, broken, _ in FAULTS]) for g in FIRST_SET]
    assert all(r.outcome == "failed" for r in results)
    assert first_failure(results) == results[0]


def test_every_gate_has_an_ending_and_none_of_them_is_measured() -> None:
    more = {"static_screen", "machine_code_screen", "obeys_physics", "is_deterministic"}
    assert set(ENDINGS) == {*GATES, *more}
    assert not any(ending.measured for ending in ENDINGS.values())


@pytest.mark.parametrize(
    ("gate", "ending"),
    [
        ("static_screen", Ending.rejected),
        ("returns_in_time", Ending.timed_out),
        ("does_not_crash", Ending.launch_failed),
        ("stays_in_its_buffers", Ending.unsafe),
        ("leaves_inputs_alone", Ending.unsafe),
        ("is_right", Ending.wrong),
        ("is_right_while_timed", Ending.cheated),
    ],
)
def test_the_ending_says_what_the_gate_found(gate: str, ending: Ending) -> None:
    assert ENDINGS[gate] is ending


def test_what_arrives_after_its_end_was_told_is_cheating_though_it_is_right() -> None:
    late = run(timed=True, verdicts=(verdict(),), late=True)
    found = GATES["is_right_while_timed"]([run(timed=True, verdicts=(verdict(),)), late])
    assert (found.outcome, ending_of(found)) == ("failed", Ending.cheated)
    assert "behind the event" in found.message


def test_wrong_only_while_timed_is_cheating_and_wrong_otherwise_is_wrong() -> None:
    wrong = (verdict(False),)
    cheat = first_failure([g([run(), run(timed=True, verdicts=wrong)]) for g in FIRST_SET])
    honest = first_failure([g([run(verdicts=wrong), run(timed=True)]) for g in FIRST_SET])
    assert cheat is not None and ENDINGS[cheat.gate] is Ending.cheated
    assert honest is not None and ENDINGS[honest.gate] is Ending.wrong


def test_a_wrong_output_leaves_its_statistics_as_evidence() -> None:
    found = GATES["is_right"]([run(shape="odd", verdicts=(verdict(False, largest=9.0),))])
    assert found.evidence["shape"] == "odd"
    assert found.evidence["largest"] == 9.0
    assert found.evidence["worst_index"] == [1, 2]


@pytest.mark.parametrize("public", [None, run()], ids=["no public run", "right there"])
@pytest.mark.parametrize(
    ("gate", "broken"),
    [
        ("is_right", run(verdicts=(verdict(False, largest=9.25),))),
        ("is_right_while_timed", run(timed=True, verdicts=(verdict(False, largest=9.25),))),
        ("does_not_crash", run(fault="it ended", fault_kind="exited", said="exit status 77")),
        ("stays_in_its_buffers", run(overrun="byte 77 behind the end of `y`")),
    ],
)
def test_of_a_secret_seed_neither_place_nor_value_nor_size_is_told(
    gate: str, broken: Run, public: Run | None
) -> None:
    found = GATES[gate]([replace(broken, public=public)])
    assert found.outcome == "failed"
    said = found.model_dump_json()
    assert not any(secret in said for secret in ("77", "9.25", "[1, 2]", "[1,2]", "error"))
    assert ("on the public seed it does not" in found.message) is (public is not None)


def test_a_right_output_tells_how_much_of_the_allowed_error_it_used() -> None:
    runs = [run(verdicts=(verdict(largest=0.2), verdict(largest=0.7))), run()]
    found = GATES["is_right"](runs)
    assert found.evidence == {"runs": 2, "share_of_allowed_error": 0.7}
    assert "70%" in found.message


def test_exact_outputs_count_no_error() -> None:
    found = GATES["is_right"]([run(verdicts=(verdict(largest=0.0, allowed=0.0),))])
    assert found.evidence["share_of_allowed_error"] == 0.0


@pytest.mark.parametrize(
    ("gate", "runs"),
    [("is_right", [run(timed=True)]), ("is_right_while_timed", [run()]), ("is_right", [])],
)
def test_a_gate_that_saw_no_run_says_so_instead_of_passing(gate: str, runs: list[Run]) -> None:
    assert GATES[gate](runs).outcome == "skipped"


def test_notes_and_skipped_gates_decide_nothing() -> None:
    results = [
        GateResult(gate="a", outcome="note"),
        GateResult(gate="b", outcome="skipped"),
        GateResult(gate="c", outcome="passed"),
    ]
    assert first_failure(results) is None


def test_what_only_a_second_call_shows_is_said_to_be_of_a_second_call() -> None:
    found = GATES["is_right"]([run(), run(verdicts=(verdict(right=False),), again=True)])
    assert "on `big` (called again, on what the call before had left): error 9" in found.message
