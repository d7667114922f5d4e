"""A kernel put into a program that knows nothing of it, proved there, and taken out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretend_program import PretendedProgram, program_run
from tiers import further

from kernelwright.analysis.programs.verdict import verdict
from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.recording.pairs import (
    Judged,
    LaunchSides,
    OneRun,
    Paired,
    run_pairs,
    run_with,
)
from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recorded import Configuration
from kernelwright.runners.recording.recording import COUNT
from kernelwright.runners.recording.swaps import (
    Replacement,
    install,
    installed,
    roll_back,
    swap_for,
)
from kernelwright.tools.programs.changing import drifted, shadowed, verified

LOOP = r"loop ([0-9.]+) ms"
LABEL = "f0c0"


def scale(recorded: Path) -> Configuration:
    return next(
        c
        for c in read_recordings(recorded / COUNT)[0].configurations
        if c.function.name == "slow_scale" and c.grid[0] == 4
    )


def replacement(cubin: Path, entry: str = "slow_scale") -> Replacement:
    return Replacement(cubin, entry, (4, 1, 1), (256, 1, 1), 0)


@further(
    "tests/server/test_recorded_programs.py::"
    "test_a_client_records_a_program_opens_a_kernel_and_puts_another_in",
    why="pairs of runs until they agree that it is faster",
)
def test_a_faster_kernel_makes_the_program_faster_with_the_same_outputs_and_is_taken_out(
    program: PretendedProgram, recorded: Path
) -> None:
    found = verified(
        program_run(program, rounds=300),
        recorded,
        LABEL,
        replacement(program.fast),
        Judged(metric=LOOP),
        pairs=4,
        wanted=True,
    )
    assert (found.outcome, found.installed) == ("faster", True), found
    assert found.used == 302 - 1  # all launches of that shape, the captured one among them
    again = drifted(program_run(program, rounds=300), recorded, Judged(metric=LOOP), pairs=2)
    assert "when it was installed" in again.told
    assert roll_back(recorded) == 1
    assert installed(recorded) == ((), {})
    with pytest.raises(AccessError, match="nothing is installed"):
        drifted(program_run(program), recorded, Judged(), pairs=2)


def test_a_wrong_kernel_is_refused_though_it_is_fast(
    program: PretendedProgram, recorded: Path
) -> None:
    new = replacement(program.wrong)
    run, judged = program_run(program, rounds=50), Judged(metric=LOOP)
    found = verified(run, recorded, LABEL, new, judged, pairs=2, wanted=True)
    assert (found.outcome, found.installed) == ("not equal", False)
    assert installed(recorded) == ((), {})


def test_the_users_own_comparator_decides(
    program: PretendedProgram, recorded: Path, tmp_path: Path
) -> None:
    swap = swap_for(scale(recorded), replacement(program.wrong))
    judged = Judged(metric=LOOP, comparator=("true",))
    found = run_pairs(program_run(program), LaunchSides([swap]), judged, 2, tmp_path / "pairs")
    assert all(run.equal for run in found.replaced)


def test_a_kernel_with_other_parameters_never_runs_and_it_is_told_why(
    program: PretendedProgram, recorded: Path, tmp_path: Path
) -> None:
    swap = swap_for(scale(recorded), replacement(program.fast, "in_place"))
    found = run_pairs(
        program_run(program), LaunchSides([swap]), Judged(metric=LOOP), 2, tmp_path / "pairs"
    )
    told = verdict(found)
    assert told.outcome == "never used"
    assert "its parameters are not those of the original" in told.notes[0]


def test_in_the_shadow_the_originals_results_stay_and_differences_are_told(
    program: PretendedProgram, recorded: Path
) -> None:
    run = program_run(program)
    right = shadowed(run, recorded, LABEL, replacement(program.fast), 2)
    wrong = shadowed(run, recorded, LABEL, replacement(program.wrong), 2)
    assert {row["differ"] for row in right} == {0}
    first = next(row for row in wrong if row["differ"])
    assert first["worst_as_float32"] == 1.0


def test_only_the_shape_it_is_for_gets_it(
    program: PretendedProgram, recorded: Path, tmp_path: Path
) -> None:
    swap = swap_for(scale(recorded), replacement(program.fast))
    found = run_pairs(
        program_run(program), LaunchSides([swap]), Judged(metric=LOOP), 2, tmp_path / "pairs"
    )
    assert {run.used for run in found.replaced} == {6}
    assert {run.used for run in found.without} == {0}


def test_a_metric_that_is_not_printed_is_refused(
    program: PretendedProgram, recorded: Path, tmp_path: Path
) -> None:
    swap = swap_for(scale(recorded), replacement(program.fast))
    with pytest.raises(SpecError, match="has no number where the metric"):
        run_pairs(
            program_run(program),
            LaunchSides([swap]),
            Judged(metric="tok/s ([0-9]+)"),
            2,
            tmp_path / "p",
        )


def test_what_is_no_machine_code_is_refused(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "kernel.ptx").write_text(".version 8.0")
    with pytest.raises(SpecError, match="nvcc -cubin"):
        swap_for(scale(recorded), replacement(tmp_path / "kernel.ptx"))


def test_installed_code_that_was_exchanged_does_not_run(
    program: PretendedProgram, recorded: Path, tmp_path: Path
) -> None:
    install(tmp_path, [swap_for(scale(recorded), replacement(program.fast))], {})
    assert run_with(program_run(program), installed(tmp_path)[0], tmp_path / "run") == 0
    (file,) = (tmp_path / "installed").glob("*.cubin")
    file.write_bytes(program.wrong.read_bytes())
    with pytest.raises(AccessError, match="not what was proved"):
        installed(tmp_path)


def paired(without: list[float], replaced: list[float], *, equal: bool = True) -> Paired:
    return Paired(
        tuple(OneRun(c, True, 0) for c in without),
        tuple(OneRun(c, equal, 3) for c in replaced),
        (),
    )


@pytest.mark.parametrize(
    ("without", "replaced", "outcome"),
    [
        ([1.0, 1.01, 0.99, 1.0], [0.5, 0.51, 0.49, 0.5], "faster"),
        ([0.5, 0.51, 0.49, 0.5], [1.0, 1.01, 0.99, 1.0], "slower"),
        ([1.0, 1.001, 0.999, 1.0], [1.0, 1.0, 1.001, 0.999], "tie"),
        ([1.0, 2.0, 0.5, 1.0], [1.1, 0.7, 1.9, 0.6], "unstable"),
        ([1.0, 1.0], [0.5, float("nan")], "failed"),
    ],
)
def test_a_verdict_needs_the_whole_interval(
    without: list[float], replaced: list[float], outcome: str
) -> None:
    assert verdict(paired(without, replaced)).outcome == outcome
