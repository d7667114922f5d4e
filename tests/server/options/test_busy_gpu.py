"""`--busy-gpu` of `optimize` is the setting `busy_gpu` of its searches."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.server import cli, headless


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ((), "go_on"),
        (("--busy-gpu", "go-on"), "go_on"),
        (("--busy-gpu", "wait"), "wait"),
        (("--busy-gpu", "refuse"), "refuse"),
        (("--set", "busy_gpu=wait"), "wait"),
    ],
)
def test_the_option_reaches_the_setting(
    given: tuple[str, ...], setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = list[headless.Headless]()
    monkeypatch.setattr(headless, "run", lambda w: wanted.append(w) or 0)  # pyright: ignore
    (tmp_path / "spec.json").write_text("{}")
    words = ["optimize", "--input", str(tmp_path), "--outdir", str(tmp_path / "out"), *given]
    said = CliRunner().invoke(cli.app, words)
    assert said.exit_code == 0, said.output
    (one,) = wanted
    assert one.settings.busy_gpu == setting


def test_another_word_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    words = ["optimize", "--input", str(tmp_path), "--outdir", str(tmp_path / "o")]
    said = CliRunner().invoke(cli.app, [*words, "--busy-gpu", "later"])
    assert said.exit_code == 2
    assert "go-on" in said.output and "refuse" in said.output
