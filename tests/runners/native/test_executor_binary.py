"""The executors' binary is compiled once, and taken from nobody else."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.native import executor_binary
from kernelwright.runners.native.executor_binary import compile_executor


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is compiled from now on, with a compiler that only says that it was."""
    made = list[Path]()

    def compiler(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        made.append(Path(command[command.index("-o") + 1]))
        made[-1].write_text("compiled", encoding="utf-8")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(executor_binary.subprocess, "run", compiler)
    return made


@pytest.fixture
def name(compiled: list[Path], tmp_path: Path) -> str:
    """Of the binary that is wanted here."""
    return compile_executor(tmp_path / "first").name


def test_what_one_server_compiled_another_one_takes(compiled: list[Path], tmp_path: Path) -> None:
    first = compile_executor(tmp_path / "first", tmp_path / "kept")
    second = compile_executor(tmp_path / "second", tmp_path / "kept")
    assert len(compiled) == 1 and second.read_text("utf-8") == "compiled"
    assert first.name == second.name and first.parent != second.parent
    assert second.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_one_that_others_can_have_written_is_compiled_anew(
    tmp_path: Path, name: str, mode: int
) -> None:
    kept = tmp_path / "kept" / name
    kept.parent.mkdir()
    kept.write_text("planted", encoding="utf-8")
    kept.chmod(mode)
    assert compile_executor(tmp_path / "own", kept.parent).read_text("utf-8") == "compiled"


def test_a_link_is_not_taken_whoever_owns_what_it_leads_to(tmp_path: Path, name: str) -> None:
    kept = tmp_path / "kept" / name
    kept.parent.mkdir()
    kept.symlink_to("/bin/true")
    assert compile_executor(tmp_path / "own", kept.parent).read_text("utf-8") == "compiled"


def test_a_folder_that_nothing_can_be_kept_in_hinders_nobody(
    compiled: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("a file", encoding="utf-8")
    assert compile_executor(tmp_path / "own", tmp_path / "kept").exists()
    assert len(compiled) == 1
