"""Paths and options that are wrong, as the command line tells them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelwright.runners.errors import AccessError
from kernelwright.search.settings import Settings
from kernelwright.server import cli
from kernelwright.server.headless import Headless, Stopped, say_how_to_resume
from kernelwright.server.options.paths import file_there, folder_there, there
from kernelwright.server.show import NOTHING_YET, show_handle
from kernelwright.store.store import STATE_FILE, Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "spec.json").write_text("{}")
    (tmp_path / "kernels" / "conv.cpp").write_text("")
    return tmp_path


def status(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """What `kernelwright ARGUMENTS` ends with."""
    monkeypatch.setattr(sys, "argv", ["kernelwright", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


@pytest.mark.parametrize(
    "command",
    [
        ("optimize", "--input"),
        ("spec", "--check"),
        ("spec", "--infer"),
        ("show",),
        ("regraph", "show"),
        ("regraph", "merge", "--to", "x"),
        ("serve", "--root"),
    ],
)
def test_a_path_that_is_not_there_is_told_with_the_nearest_names(
    command: tuple[str, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status(monkeypatch, *command, str(folder / "kernels" / "spce.json")) == 1
    told = capsys.readouterr().err
    assert "spce.json cannot be read: No such file or directory" in told
    assert f"Valid: in {folder / 'kernels'}: spec.json" in told


def test_a_folder_of_the_path_that_is_not_there_is_told_with_the_nearest_folder(
    folder: Path,
) -> None:
    with pytest.raises(AccessError) as raised:
        there(folder / "kernles" / "spec.json")
    assert raised.value.valid == f"in {folder}: kernels/"


def test_a_short_name_of_a_folder_with_two_letters_changed_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    with pytest.raises(AccessError) as raised:
        there(tmp_path / "bda")
    assert raised.value.valid == f"in {tmp_path}: bad/"


def test_a_folder_in_place_of_a_file_is_told_with_the_files_in_it(folder: Path) -> None:
    with pytest.raises(AccessError, match="is a folder, not a file") as raised:
        file_there(folder / "kernels")
    assert raised.value.valid == f"in {folder / 'kernels'}: conv.cpp, spec.json"


def test_a_file_in_place_of_a_folder_is_told(folder: Path) -> None:
    assert folder_there([folder / "kernels"]) == [folder / "kernels"]
    with pytest.raises(AccessError, match="is a file, not a folder"):
        folder_there([folder / "kernels", folder / "kernels" / "spec.json"])


@pytest.mark.parametrize(
    "wrong", [("--budget-builds", "-3"), ("--budget-seconds", "x"), ("--inptu", "y")]
)
def test_an_option_that_is_wrong_is_no_search_that_gained_nothing(
    wrong: tuple[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status(monkeypatch, "optimize", "--input", str(folder), *wrong) == 1


def test_a_search_that_gained_nothing_still_ends_with_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_gained(wanted: Headless) -> int:
        return 2

    monkeypatch.setattr("kernelwright.server.headless.run", nothing_gained)
    assert status(monkeypatch, "optimize", "--input", str(folder)) == 2


def test_how_to_go_on_names_the_program_as_it_was_called_and_all_that_it_may_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/kernelwright", "optimize"])
    roots = (folder / "kernels",)
    wanted = Headless(Path("a b.json"), Path("out"), roots, Settings(), False, gpus=("0", "1"))
    say_how_to_resume(Stopped(15), wanted)
    assert capsys.readouterr().err.splitlines()[-1] == (
        "go on with: .venv/bin/kernelwright optimize --input 'a b.json' --outdir out --resume "
        f"--root {roots[0]} --gpus 0,1"
    )


def test_a_folder_in_which_nothing_was_opened_yet_is_told_as_that(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store.open(folder / STATE_FILE).close()
    show_handle(folder, "")
    assert capsys.readouterr().out == f"{NOTHING_YET}\n"
