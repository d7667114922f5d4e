"""Kept launches, run again without their program on the driver that the device runner uses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pretend_program import PretendedProgram, kept_requests, program_run

from kernelwright.runners.recording.fronts import Asked
from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recording import KEPT, keep_launches
from kernelwright.runners.recording.replaying.kept import KeptLaunch, kept_launches
from kernelwright.runners.recording.replaying.replay import Other
from kernelwright.runners.recording.replaying.replaying import Replayed, replay_launches


def kept_of(recorded: Path) -> tuple[KeptLaunch, ...]:
    return kept_launches(read_recordings(recorded / KEPT)[0].folder)


def by_name(found: tuple[Replayed, ...]) -> dict[str, Replayed]:
    return {f"{each.kept.name} {each.kept.grid[0]}": each for each in found}


def test_launches_leave_the_same_bits_outside_their_program(recorded: Path, tmp_path: Path) -> None:
    found = by_name(replay_launches(kept_of(recorded), tmp_path))
    assert {name: each.verdict for name, each in found.items()} == {
        "slow_scale 4": "equal bit for bit",
        "slow_scale 2": "equal bit for bit",
        "in_place 4": "equal bit for bit",
        "counting 1": "equal bit for bit",  # its variable of the module is restored as well
    }
    assert not sum(each.moved for each in found.values())


def test_pointers_in_structures_and_tables_follow_buffers_that_move(
    recorded: Path, tmp_path: Path
) -> None:
    found = by_name(replay_launches(kept_of(recorded), tmp_path, relocate=True))
    assert all(each.equal for each in found.values())
    assert found["slow_scale 4"].moved == 4


def test_roles_are_found_by_poison(recorded: Path, tmp_path: Path) -> None:
    found = by_name(replay_launches(kept_of(recorded), tmp_path, roles=True))
    roles = {name: [r.role for r in each.roles] for name, each in found.items()}
    assert roles == {
        "slow_scale 4": ["input", "output", "unknown", "not looked at"],
        "slow_scale 2": ["input", "output", "unknown", "not looked at"],
        "in_place 4": ["inout"],
        "counting 1": ["output"],
    }
    assert found["slow_scale 2"].roles[1].written == 2000
    assert "addresses" in found["slow_scale 4"].roles[2].why
    assert all(each.equal for each in found.values())  # one that broke did not take others along


def test_other_machine_code_is_compared_with_what_the_program_had(
    program: PretendedProgram, recorded: Path, tmp_path: Path
) -> None:
    (kept,) = (k for k in kept_of(recorded) if k.name == "slow_scale" and k.grid[0] == 4)
    as_it_was = (kept.grid, kept.block, kept.shared)
    fast = Other(program.fast, "slow_scale", *as_it_was)
    wrong = Other(program.wrong, "slow_scale", *as_it_was)
    assert replay_launches([kept], tmp_path, other=fast)[0].equal
    found = replay_launches([kept], tmp_path, other=wrong)[0]
    assert found.verdict.endswith("bytes that it wrote are not the program's")


def test_an_image_that_was_not_recorded_is_told(recorded: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(recorded, tmp_path / "copied")
    for file in copied.glob("kept/*/snapshots/*.json"):
        row = json.loads(file.read_text())
        file.write_text(json.dumps({**row, "image": ""}))
    found = replay_launches(kept_of(copied), tmp_path / "scratch")
    assert {each.verdict for each in found} == {
        "not run: its machine code was not recorded\n"
        "Next: record with CUPTI (--front cupti), which sees all machine code"
    }


def test_damaged_machine_code_breaks_one_launch_and_no_other(
    recorded: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(recorded, tmp_path / "copied")
    first = sorted(copied.glob("kept/*/snapshots/*.json"))[0]
    row = json.loads(first.read_text())
    (first.parent.parent / "images" / "broken").write_bytes(b"nothing that a GPU runs")
    first.write_text(json.dumps({**row, "image": "broken"}))
    found = replay_launches(kept_of(copied), tmp_path / "scratch")
    assert [each.equal for each in found] == [False, True, True, True]
    assert "machine code" in found[0].verdict


@pytest.mark.parametrize(
    ("asked", "environment", "why"),
    [
        (Asked(most_launch_bytes=1000), {}, "it reaches over 1000 bytes"),
        (Asked(most_bytes=5000), {}, "all snapshots together reached their limit"),
        (Asked(), {"PRETEND_MANAGED": "1"}, "managed memory"),
    ],
)
def test_launches_beyond_a_limit_are_refused_in_words(
    program: PretendedProgram,
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: Asked,
    environment: dict[str, str],
    why: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    requests = kept_requests(recorded)
    found = keep_launches(program_run(program), tmp_path / "rec", requests, asked, "shim")
    assert any(why in str(note.get("refused")) for note in found.recording.notes)
    assert found.ran.returncode == 0  # the program itself is not disturbed


def test_what_two_launches_read_is_kept_once(recorded: Path) -> None:
    kept = kept_of(recorded)
    shared = [b.before for k in kept if k.name == "slow_scale" for b in k.buffers[:1]]
    assert len(shared) == 2
    assert len(set(shared)) == 1
