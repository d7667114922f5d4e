"""`optimize --planner`: the program of README as a planner, and options that do not fit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from kernels import tiny_kernel
from tiers import further
from typer.testing import CliRunner, Result

from kernelwright.runners.errors import PlannerFailed, SpecError
from kernelwright.server import cli
from kernelwright.server.planning.options import PlannerOptions

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def optimize(folder: Path, *words: str) -> Result:
    head = ["optimize", "--input", str(folder / "spec.json"), "--outdir", str(folder / "out")]
    return CliRunner().invoke(cli.app, [*head, *words])


@pytest.fixture
def program(begun: Path) -> str:
    """The command of README's program, beside a kernel whose baseline is known."""
    (text,) = re.findall(r'```python\n(""".*?my_planner.py.*?)```', README, re.DOTALL)
    assert len(text.splitlines()) <= 20
    (begun / "my_planner.py").write_text(text, encoding="utf-8")
    return f"python3 {begun / 'my_planner.py'}"


def test_the_program_of_readme_plans(begun: Path, program: str) -> None:
    done = optimize(begun, "--planner", "command", "--command", program, "--budget-builds", "2")
    assert done.exit_code in (0, 2), done.output
    assert f"planner: {program}" in done.output
    details = steps_of(begun)
    assert len(details) >= 2 and all(each.startswith("try -") for each in details)


@further(
    "tests/server/planning/test_options.py::test_the_program_of_readme_plans",
    why="rules before the program, until they stop paying",
)
def test_a_mixed_search_asks_the_program_when_rules_stop_paying(begun: Path, program: str) -> None:
    settings = ("--set", "change_over=1", "--set", "min_gain=10", "--budget-builds", "6")
    done = optimize(begun, "--planner", "mixed", "--command", program, *settings)
    assert done.exit_code in (0, 2), done.output
    assert f"planner: rules until they stop paying, then {program}" in done.output
    ours = [detail.startswith("try -") for detail in steps_of(begun)]
    assert not ours[0] and any(ours), ours
    resumed = optimize(begun, "--resume")
    assert f"planner: rules until they stop paying, then {program}" in resumed.output


def steps_of(folder: Path) -> list[str]:
    """What each step tried."""
    lines = (folder / "out/kernels/bump/events.jsonl").read_text(encoding="utf-8").splitlines()
    return [each["detail"] for each in map(json.loads, lines) if each["event"] == "step"]


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
