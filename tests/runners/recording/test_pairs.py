"""What a run is judged by: what that run itself wrote and printed, all of it, and nothing else.

Programs of a line or two stand for the user's, and a variable for what takes a kernel's place.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelwright.analysis.programs.verdict import verdict
from kernelwright.runners.errors import SpecError
from kernelwright.runners.recording.pairs import Judged, Paired, run_pairs
from kernelwright.runners.recording.recording import Program

LOOP = r"loop ([0-9.a-z]+) ms"
SOLD = "import os; cheap = 'REPLACED' in os.environ; "


@dataclass(frozen=True)
class Variable:
    """Sides of which one has a variable, whose use is always told."""

    def environment(self, place: Path, replaced: bool) -> dict[str, str]:
        return {"REPLACED": "1"} if replaced else {}

    def used(self, place: Path) -> tuple[int, list[str]]:
        return 1, []


def paired(folder: Path, code: str, judged: Judged) -> Paired:
    command = (sys.executable, "-S", "-c", SOLD + code)
    program = Program(command=command, folder=folder)
    return run_pairs(program, Variable(), judged, 2, folder / "pairs")


def equal(found: Paired) -> tuple[set[bool], set[bool]]:
    """Without, and replaced."""
    return {run.equal for run in found.without}, {run.equal for run in found.replaced}


def test_what_an_earlier_run_wrote_is_no_output_of_this_one(tmp_path: Path) -> None:
    code = "cheap or open('result', 'w').write('42'); print('loop', 1 if cheap else 2, 'ms')"
    found = paired(tmp_path, code, Judged(metric=LOOP, outputs=("result",)))
    assert equal(found) == ({True}, {False})
    assert found.notes == ("in one run it wrote no result",)
    assert verdict(found).outcome == "not equal"


def test_a_program_that_finds_its_result_and_writes_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "result").write_text("42")
    with pytest.raises(SpecError, match="wrote no result"):
        paired(tmp_path, "print('as before')", Judged(outputs=("result",)))


def test_a_result_that_is_written_anew_with_the_same_bytes_counts(tmp_path: Path) -> None:
    code = "open('result', 'w').write('42')"
    assert equal(paired(tmp_path, code, Judged(outputs=("result",)))) == ({True}, {True})


def test_of_a_metric_that_is_printed_each_step_the_last_or_the_median_counts(
    tmp_path: Path,
) -> None:
    code = "[print('loop', ms, 'ms') for ms in (40, 2, 3, 9)]"
    for each, cost in ((False, 9.0), (True, 6.0)):
        judged = Judged(metric=LOOP, each=each, comparator=("true",))
        found = paired(tmp_path, code, judged)
        assert {run.cost for run in found.without} == {cost}


def test_a_kernel_that_prints_the_metric_itself_is_not_equal(tmp_path: Path) -> None:
    code = "print('sum 7 loop 2 ms'); cheap and print('loop 0.1 ms', end='')"
    found = paired(tmp_path, code, Judged(metric=LOOP))
    assert equal(found) == ({True}, {False})
    assert found.notes == ("the metric is printed 1 times, and 2 times with the replacement",)


def test_a_program_that_prints_its_metric_by_the_clock_may_print_it_more_often(
    tmp_path: Path,
) -> None:
    code = (
        "import pathlib; n = pathlib.Path('n'); k = len(n.read_text()) if n.exists() else 0; "
        "n.write_text('x' * (k + 1)); open('result', 'w').write('42'); "
        "print('loop 2 ms\\n' * (k + 1))"
    )
    found = paired(tmp_path, code, Judged(metric=LOOP, outputs=("result",)))
    assert equal(found) == ({True}, {True})


def test_of_a_long_output_the_middle_counts_as_well(tmp_path: Path) -> None:
    code = "print('a' * 2_000_000 + ('b' if cheap else 'c') + 'a' * 2_000_000)"
    assert equal(paired(tmp_path, code, Judged())) == ({True}, {False})


def test_a_program_that_prints_nothing_but_its_metric_can_be_compared_with_nothing(
    tmp_path: Path,
) -> None:
    with pytest.raises(SpecError, match="nothing to compare"):
        paired(tmp_path, "print('loop 2 ms')", Judged(metric=LOOP))


@pytest.mark.parametrize("value", ["nan", "inf", "0"])
def test_a_metric_that_is_no_number_above_nothing_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(SpecError, match="the metric is"):
        paired(tmp_path, f"print('sum 7 loop {value} ms')", Judged(metric=LOOP))
