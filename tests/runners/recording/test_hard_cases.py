"""Programs that make recording hard: each ends in a sentence, and nothing else is lost."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from pretend_program import PretendedProgram, kept_requests, program_run

from kernelwright.runners.errors import AccessError, KernelwrightError
from kernelwright.runners.recording.fronts import Asked
from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recording import (
    KEPT,
    Program,
    keep_launches,
    record_program,
)
from kernelwright.runners.recording.replaying.kept import kept_launches
from kernelwright.runners.recording.replaying.replaying import Replayed, replay_launches

E_MACHINE = 18
"""where an ELF file says what it is for"""
CHECKS_ITSELF = 'test "$(sha256sum < "$0")" = "$SUM  -" || exit 7; exec "$0" "$@"'
KILLED = '"$0" "$@" & sleep 1.5; kill -9 $!; wait $!'


def beneath_a_shell(program: PretendedProgram, script: str, mode: str = "") -> Program:
    return Program(("/bin/sh", "-c", script, *program.command(mode=mode)), program.folder, 60.0)


def replayed(
    program: PretendedProgram, mode: str, tmp_path: Path, wait_s: float = 10.0
) -> dict[str, Replayed]:
    """What replays of a program's launches come to, by kernel and grid."""
    outdir, run = tmp_path / "rec", program_run(program, mode=mode)
    record_program(run, outdir, Asked(), "shim")
    keep_launches(run, outdir, kept_requests(outdir), Asked(), "shim")
    kept = kept_launches(read_recordings(outdir / KEPT)[0].folder)
    found = replay_launches(kept, tmp_path / "scratch", wait_s=wait_s)
    return {f"{each.kept.name} {each.kept.grid[0]}": each for each in found}


def others_are_equal(found: dict[str, Replayed], hard: str) -> bool:
    rest = [each.verdict for name, each in found.items() if name != hard]
    return rest == ["equal bit for bit"] * 4


def test_a_kernel_that_waits_for_another_is_given_up_and_the_others_go_on(
    program: PretendedProgram, tmp_path: Path
) -> None:
    found = replayed(program, "waiting", tmp_path, wait_s=0.3)
    assert found["waiting 1"].verdict.startswith("not run: it did not end within")
    assert others_are_equal(found, "waiting 1")


def test_a_kernel_that_reads_through_a_handle_of_its_process_is_told(
    program: PretendedProgram, tmp_path: Path
) -> None:
    found = replayed(program, "handles", tmp_path)
    assert found["sampling 1"].verdict.startswith("not run: the process that replays it ended with")
    assert others_are_equal(found, "sampling 1")


def test_on_a_full_disk_nothing_is_kept_and_the_program_goes_on(
    program: PretendedProgram, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRETEND_FULL", "1")
    requests = kept_requests(recorded)
    found = keep_launches(program_run(program), tmp_path / "rec", requests, Asked(), "shim")
    refused = [str(note.get("refused")) for note in found.recording.notes]
    assert any("the disk has no room for it" in each for each in refused)
    assert found.ran.returncode == 0
    assert not list((tmp_path / "rec").glob("kept/*/blobs/*"))


def test_a_program_that_is_killed_keeps_what_it_had_launched(
    program: PretendedProgram, tmp_path: Path
) -> None:
    killed = beneath_a_shell(program, KILLED, mode="loop")
    found = record_program(killed, tmp_path / "rec", Asked(), "shim")
    assert found.recording.launches == 10
    assert not found.recording.summary["ended"]
    kept = keep_launches(killed, tmp_path / "rec", kept_requests(tmp_path / "rec"), Asked(), "shim")
    assert len(kept_launches(kept.recording.folder)) == 4
    assert not list((tmp_path / "rec").rglob("*.part"))


def test_a_program_that_checks_its_own_binary_finds_it_as_it_was(
    program: PretendedProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUM", hashlib.sha256((program.folder / "program").read_bytes()).hexdigest())
    run = beneath_a_shell(program, CHECKS_ITSELF)
    found = record_program(run, tmp_path / "rec", Asked(), "shim")
    assert found.ran.returncode == 0
    assert found.recording.launches == 10


def test_a_program_that_may_not_be_run_is_told(program: PretendedProgram, tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes((program.folder / "program").read_bytes())
    file.chmod(0o600)
    run = Program((str(file),), tmp_path, 60.0)
    with pytest.raises(KernelwrightError, match="Permission denied"):
        record_program(run, tmp_path / "rec", Asked(), "shim")


def test_a_folder_that_cannot_be_written_is_told_before_the_program_runs(
    program: PretendedProgram, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(AccessError, match="cannot be written: Not a directory"):
        record_program(program_run(program), tmp_path / "file" / "rec", Asked(), "shim")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_machine_code_of_another_gpu_is_told_for_each_launch(
    recorded: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(recorded, tmp_path / "copied")
    for image in copied.glob("kept/*/images/*"):
        code = bytearray(image.read_bytes())
        code[E_MACHINE : E_MACHINE + 2] = b"\xff\xff"
        image.write_bytes(code)
    kept = kept_launches(read_recordings(copied / KEPT)[0].folder)
    found = replay_launches(kept, tmp_path / "scratch")
    assert [e.verdict for e in found] == ["not run: the machine code is for another GPU"] * 4
