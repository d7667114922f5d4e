"""Options that people bring from earlier tools: what means the same is taken, all else is answered
with today's way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.files import Roots, load_path
from kernelwright.search.session.optimize import Event, Failed, Opening
from kernelwright.server.cli import main
from kernelwright.server.headless import FAILED, SOME_FAILED, exit_status, say_what_failed
from kernelwright.server.options.earlier_words import without_earlier_words


@pytest.mark.parametrize("option", ["--build-regraph", "--regraph-autobuild"])
def test_what_happens_anyway_is_taken_and_told(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert without_earlier_words(["optimize", option, "--seed", "3"]) == ["optimize", "--seed", "3"]
    assert f"{option}: every search adds to the ReGraph" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--llm-model", "large"], ["--llm-model=large"]])
def test_a_model_is_answered_with_how_one_proposes_today(given: list[str]) -> None:
    with pytest.raises(SpecError, match="planner anthropic --model large --budget-usd"):
        without_earlier_words(["optimize", *given, "--seed", "1"])
    kept = without_earlier_words(["optimize", *given, "--no-llm"])
    assert kept == ["optimize", "--no-llm"]


@pytest.mark.parametrize("given", [["--worker", "v/abc/control.json"], ["--worker=v/abc/c.json"]])
def test_a_worker_is_answered_with_the_command_that_replays_its_folder(given: list[str]) -> None:
    with pytest.raises(SpecError, match="kernelwright replay v/abc"):
        without_earlier_words(["optimize", *given])


def test_a_spec_without_its_option_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    taken = ["optimize", "--input", "spec.json", "--seed", "1"]
    assert without_earlier_words(["optimize", "spec.json", "--seed", "1"]) == taken
    assert "taken as --input spec.json" in capsys.readouterr().err
    twice = ["optimize", "spec.json", "--input=other.json"]
    assert without_earlier_words(twice) == twice


def test_a_source_in_place_of_a_spec_is_answered_with_the_spec_to_fill_in(tmp_path: Path) -> None:
    source = tmp_path / "twice.cpp"
    source.write_text("void twice(const float* x, float* y, int n) { y[n] = x[0]; }\n")
    with pytest.raises(SpecError) as refused:
        load_path(source, Roots([tmp_path]))
    assert "twice.cpp" in str(refused.value)
    assert "not JSON" not in str(refused.value)


def test_other_commands_keep_all_their_words() -> None:
    assert without_earlier_words(["show", "--llm-model"]) == ["show", "--llm-model"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--worker", "o/kernels/k/variants/v1/control.json"], "replay o/kernels/k/variants/v1"),
        (["--ncu-every", "0"], "no spec in"),
        (["--ncu-every", "-1"], "ncu-every"),
    ],
)
def test_the_command_line_answers_in_a_sentence(
    given: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [
        "kernelwright",
        "optimize",
        "--input",
        str(tmp_path),
        "--outdir",
        str(tmp_path / "o"),
    ]
    monkeypatch.setattr(sys, "argv", [*command, *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1 and said in capsys.readouterr().err


def test_all_failed_is_told_from_some_failed_and_named_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = Failed(Path("bad.json"), SpecError("no such field"))
    other = Failed(Path("worse.json"), SpecError("not JSON"))
    gained: Event = Opening(Path("good.json"))  # any event that is no failure
    assert exit_status([failed, other]) == FAILED
    assert exit_status([failed, gained]) == SOME_FAILED
    say_what_failed([failed, gained])
    said = capsys.readouterr().err
    assert said.startswith("1 of 2 specs failed:") and "bad.json: no such field" in said
    say_what_failed([failed])
    assert capsys.readouterr().err == ""
