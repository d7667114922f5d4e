"""What a winner can gain, with what its calls cost, before anything is searched for."""

from __future__ import annotations

from pathlib import Path

from kernelwright.analysis.programs.calls import calls_of, most_gain, why_no_gain
from kernelwright.analysis.programs.operators import (
    first_to_open,
    operator_report,
    operators_text,
)
from kernelwright.runners.recording.operators.call_cost import CallCost
from kernelwright.runners.recording.operators.seen import SeenOperator, SeenOperators

COST = CallCost(operator_us=4.0, winner_us=10.0, elsewhere_us=6.0, wait_us=5.0)


def _seen(
    label: str, device: str, host_us: float, wait_us: float = 0, count: int = 100, name: str = ""
) -> SeenOperator:
    """An operator whose calls return after `host_us` and are waited for as long again."""
    ns = int((host_us + wait_us) * count * 1e3)
    tensor = ("tensor", "float32", (8,), (1,), device)
    host_ns = int(host_us * count * 1e3)
    operator = f"aten::{name or label}"
    return SeenOperator(label, operator, ((tensor,), ()), (), count, ns, "", None, host_ns)


def _of(*rows: SeenOperator) -> SeenOperators:
    return SeenOperators(rows, Path())


def test_an_operator_that_is_called_faster_than_any_winner_is_told_to_gain_nothing() -> None:
    long, short = _seen("o0", "cpu", 1000), _seen("o1", "cpu", 6)
    found = _of(long, short)
    calls = calls_of(found, COST)
    assert most_gain(long, found, calls) == (1000 + 6) / (10 + 6)
    assert why_no_gain(long, found, calls) == ""
    assert "a call takes 6.0 us of the host, and one of a winner 10.0 us" in why_no_gain(
        short, found, calls
    )


def test_where_the_host_is_waited_for_a_kernel_gains_nothing_however_long_it_is() -> None:
    small = [_seen(f"o{n}", "cuda", 8, 5) for n in range(1, 6)]
    large = _seen("o0", "cuda", 8, 25)
    bound = _of(large, *small)
    calls = calls_of(bound, COST)
    assert calls is not None and calls.host_bound
    assert "the host bounds the program" in why_no_gain(large, bound, calls)
    busy = _of(_seen("o0", "cuda", 8, 305), *small)
    calls = calls_of(busy, COST)
    assert calls is not None and not calls.host_bound
    assert most_gain(busy.rows[0], busy, calls) == 300 / (10 + 5 * 8)


def test_other_calls_of_the_operator_pay_for_being_looked_at() -> None:
    row, others = _seen("o0", "cpu", 12), _seen("o1", "cpu", 50, count=1000, name="o0")
    apart = _of(row, _seen("o1", "cpu", 50, count=1000))
    together = _of(row, others)
    assert why_no_gain(row, apart, calls_of(apart, COST)) == ""
    assert why_no_gain(row, together, calls_of(together, COST))


def test_without_a_measured_cost_amdahls_law_is_told_alone() -> None:
    found = _of(_seen("o0", "cpu", 30), _seen("o1", "cpu", 10))
    assert calls_of(found, None) is None
    assert round(most_gain(found.rows[0], found, None), 6) == 4.0
    assert "winner's call" not in operators_text(operator_report(found, ["train"]))


def test_a_report_names_what_to_open_first_or_that_nothing_gains() -> None:
    gains = operator_report(_of(_seen("o0", "cpu", 6), _seen("o1", "cpu", 1000)), ["train"], COST)
    assert first_to_open(gains) == "o1"
    assert "[no gain: " in operators_text(gains)
    none = operator_report(_of(_seen("o0", "cuda", 6, 15)), ["train"], COST)
    assert first_to_open(none) == ""
    told = "the host needs 0.60 ms for the calls, the GPU about 1.00 ms: the GPU bounds"
    assert told in operators_text(none)
    assert "no kernel in the place of one operator makes it faster" in none.advice
