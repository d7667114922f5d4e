"""A program that knows nothing of us is recorded through the driver that it calls."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from pretend_program import PretendedProgram, program_run

from kernelwright.runners.errors import AccessError, KernelwrightError
from kernelwright.runners.recording.fronts import Asked, environment_for
from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recording import delete_recording, record_program
from kernelwright.runners.recording.running import run_program


def test_every_launch_is_counted_by_kernel_and_shape(
    program: PretendedProgram, tmp_path: Path
) -> None:
    found = record_program(program_run(program, rounds=5), tmp_path / "rec", Asked(), "shim")
    counts = {(c.function.name, c.grid): c.count for c in found.recording.configurations}
    assert counts == {
        ("slow_scale", (4, 1, 1)): 6,  # five, and one into a graph
        ("slow_scale", (2, 1, 1)): 1,  # asked for by cuGetProcAddress
        ("in_place", (4, 1, 1)): 1,
        ("counting", (1, 1, 1)): 2,
    }
    assert found.recording.summary["graph_launches"] == 3
    assert sum(c.captured for c in found.recording.configurations) == 1


def test_a_recorded_program_prints_what_it_prints_without(
    program: PretendedProgram, tmp_path: Path
) -> None:
    plain = run_program(program.command(), folder=tmp_path, scratch=tmp_path, environment={})
    found = record_program(program_run(program), tmp_path / "rec", Asked(), "shim")
    assert plain.stdout.split("digest")[1] == found.ran.stdout.split("digest")[1]


def test_the_machine_code_that_a_program_loads_is_kept(
    program: PretendedProgram, tmp_path: Path
) -> None:
    found = record_program(program_run(program), tmp_path / "rec", Asked(), "shim")
    (image,) = {f.image for f in found.recording.functions}
    kept = (found.recording.folder / "images" / image).read_bytes()
    assert program.slow.read_bytes().startswith(kept[: len(kept)])


def test_machine_code_that_is_loaded_from_a_file_is_the_same_as_from_memory(
    program: PretendedProgram, tmp_path: Path
) -> None:
    images = [
        {
            (each.name, each.image)
            for each in record_program(
                program_run(program, mode=mode), tmp_path / "rec", Asked(), "shim"
            ).recording.functions
        }
        for mode in ("", "file")
    ]
    assert images[0] == images[1]
    assert all(image for _, image in images[0])


def test_recordings_are_for_their_owner_alone(program: PretendedProgram, tmp_path: Path) -> None:
    record_program(program_run(program), tmp_path / "rec", Asked(), "shim")
    modes = {
        stat.S_IMODE(path.stat().st_mode) & 0o077
        for path in (tmp_path / "rec" / "count").rglob("*")
    }
    assert modes == {0}
    assert stat.S_IMODE((tmp_path / "rec").stat().st_mode) == 0o700


def test_a_program_that_leaves_by_exit_is_written_down_before(
    program: PretendedProgram, tmp_path: Path
) -> None:
    found = record_program(program_run(program, mode="exit"), tmp_path / "rec", Asked(), "shim")
    assert found.recording.launches == 10
    assert not found.recording.summary["ended"]


def test_a_program_that_never_ends_is_ended_and_told(
    program: PretendedProgram, tmp_path: Path
) -> None:
    run = program_run(program, mode="loop", timeout_s=2.5)
    found = record_program(run, tmp_path / "rec", Asked(), "shim")
    assert found.ran.timed_out
    assert found.recording.launches == 10


def test_a_program_that_forks_is_recorded_once(program: PretendedProgram, tmp_path: Path) -> None:
    found = record_program(program_run(program, mode="fork"), tmp_path / "rec", Asked(), "shim")
    assert found.others == 0
    assert found.recording.launches == 10


@pytest.mark.parametrize(
    ("mode", "why"),
    [("fail", "exit status 3\nno input file"), ("noop", "never used the GPU")],
)
def test_where_nothing_was_recorded_it_is_told_why(
    program: PretendedProgram, tmp_path: Path, mode: str, why: str
) -> None:
    with pytest.raises(KernelwrightError, match=why):
        record_program(program_run(program, mode=mode), tmp_path / "rec", Asked(), "shim")


@pytest.mark.parametrize("name", ["", "no-such-program", "/nowhere/prog", "a" * 3000, "a\0b"])
def test_a_program_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(AccessError, match="there is no program"):
        run_program([name], folder=tmp_path, scratch=tmp_path, environment={})


def test_cupti_on_a_driver_that_is_none_is_refused_in_a_sentence(
    program: PretendedProgram, tmp_path: Path
) -> None:
    try:
        environment_for("cupti", tmp_path / "env", Asked())
    except AssertionError:
        pytest.skip("no CUPTI here")
    with pytest.raises(KernelwrightError, match="CUPTI does not work with this driver"):
        record_program(program_run(program), tmp_path / "rec", Asked(), "cupti")


def test_only_recordings_are_replaced_and_deleted(
    program: PretendedProgram, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(AccessError, match="no recording"):
        record_program(program_run(program), mine, Asked(), "shim")
    with pytest.raises(AccessError, match="no recording"):
        delete_recording(mine)
    with pytest.raises(AccessError, match="no recording"):
        record_program(program_run(program), mine / "thesis.tex", Asked(), "shim")
    assert (mine / "thesis.tex").read_text() == "years of work"


def test_deleting_leaves_nothing(recorded: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(recorded, tmp_path / "copied")
    assert delete_recording(copied) > 8000
    assert not copied.exists()
    assert read_recordings(copied) == ()
