"""`optimize --planner`: the program of README as a planner, and options that do not fit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from kernels import tiny_kernel, with_known_peaks
from typer.testing import CliRunner, Result

from kernelwright.runners.errors import PlannerFailed, SpecError
from kernelwright.server import cli
from kernelwright.server.planning.options import PlannerOptions

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def optimize(folder: Path, *words: str) -> Result:
    head = ["optimize", "--input", str(folder / "spec.json"), "--outdir", str(folder / "out")]
    return CliRunner().invoke(cli.app, [*head, *words])


def test_the_program_of_readme_plans(tmp_path: Path) -> None:
    (program,) = re.findall(r'```python\n(""".*?my_planner.py.*?)```', README, re.DOTALL)
    assert len(program.splitlines()) <= 20
    tiny_kernel(tmp_path)
    with_known_peaks(tmp_path / "out")
    (tmp_path / "my_planner.py").write_text(program, encoding="utf-8")
    command = f"python3 {tmp_path / 'my_planner.py'}"
    done = optimize(tmp_path, "--planner", "command", "--command", command, "--budget-builds", "3")
    assert done.exit_code in (0, 2), done.output
    assert f"planner: {command}" in done.output
    events = (tmp_path / "out/kernels/bump/events.jsonl").read_text(encoding="utf-8").splitlines()
    details = [each["detail"] for each in map(json.loads, events) if each["event"] == "step"]
    assert len(details) >= 2 and all(each.startswith("try -") for each in details)


def test_a_mixed_search_asks_the_program_when_rules_stop_paying(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with_known_peaks(tmp_path / "out")
    (program,) = re.findall(r'```python\n(""".*?my_planner.py.*?)```', README, re.DOTALL)
    (tmp_path / "my_planner.py").write_text(program, encoding="utf-8")
    command = f"python3 {tmp_path / 'my_planner.py'}"
    settings = ("--set", "change_over=1", "--set", "min_gain=10", "--budget-builds", "6")
    done = optimize(tmp_path, "--planner", "mixed", "--command", command, *settings)
    assert done.exit_code in (0, 2), done.output
    assert f"planner: rules until they stop paying, then {command}" in done.output
    events = (tmp_path / "out/kernels/bump/events.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [each["detail"] for each in map(json.loads, events) if each["event"] == "step"]
    ours = [detail.startswith("try -") for detail in steps]
    assert not ours[0] and any(ours), steps
    resumed = optimize(tmp_path, "--resume")
    assert f"planner: rules until they stop paying, then {command}" in resumed.output


def test_a_model_without_a_key_is_told_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    tiny_kernel(tmp_path)
    done = optimize(tmp_path, "--planner", "anthropic")
    assert isinstance(done.exception, PlannerFailed)
    assert "ANTHROPIC_API_KEY" in done.exception.valid


def test_an_option_of_the_planner_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(SpecError, match="efort") as caught:
        _ = PlannerOptions("anthropic", assignments=("efort=high",)).settings
    assert "--planner-set" in caught.value.next_step


def test_what_is_told_goes_over_what_the_resumed_search_kept() -> None:
    kept = PlannerOptions("anthropic", model="one", budget_usd=2.0).settings
    told = PlannerOptions("anthropic", model="two", kept=kept).settings
    assert (told.model, str(told.budget_usd)) == ("two", "2.0")


def test_a_budget_of_nothing_is_refused_and_never_taken_for_no_limit() -> None:
    with pytest.raises(SpecError, match="greater than 0"):
        _ = PlannerOptions("anthropic", budget_usd=0.0).settings


def test_a_base_url_with_a_password_is_refused_as_it_would_be_kept() -> None:
    chosen = PlannerOptions("anthropic", assignments=("base_url=https://me:hush@example.org",))
    with pytest.raises(SpecError, match="no user or password"):
        _ = chosen.settings


def test_the_command_that_resumes_names_planner_and_settings_again() -> None:
    chosen = PlannerOptions("anthropic", "claude-haiku-5-5", "", 2.5, None, ("effort=low",))
    assert chosen.words() == [
        *("--planner", "anthropic", "--model", "claude-haiku-5-5", "--budget-usd", "2.5"),
        *("--planner-set", "effort=low"),
    ]
