"""The driver `command`: programs that answer, that fail, and that never end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from asking import CANDIDATE, Keeping, asked

from kernelwright.runners.errors import PlannerFailed
from kernelwright.search.drivers.command import CommandDriver
from kernelwright.search.drivers.settings import PlannerSettings
from kernelwright.search.session.exchanges import calls_of

ANSWER = f"print('''{json.dumps({'candidates': [CANDIDATE]})}''')"


def program(code: str, **settings: object) -> PlannerSettings:
    """Settings for a Python program."""
    command = (sys.executable, "-c", "import json, os, sys, time\n" + code)
    return PlannerSettings.model_validate({"command": command, **settings})


def test_it_reads_the_question_and_its_answer_is_taken(keeping: Keeping) -> None:
    settings = program(
        "q = json.load(sys.stdin)\n"
        "assert q['format'] == 1 and q['source'] == 'void f(float* y) {}', q\n"
        "assert '## Contract' in q['brief'] and q['sections'][0]['name'] == 'contract'\n" + ANSWER
    )
    (found,) = CommandDriver(settings).propose(asked(), keeping.exchanges(settings))
    assert found.parameters == {"UNROLL": 4}
    (call,) = calls_of(keeping.store, "s1")
    assert json.loads(call.returned.text) == {"candidates": [CANDIDATE]}


def test_it_runs_in_a_folder_of_its_own_that_is_gone_afterwards(keeping: Keeping) -> None:
    settings = program(
        "print(json.dumps({'candidates': [{'method': os.getcwd(), 'parameters': {}}]}))"
    )
    (found,) = CommandDriver(settings).propose(asked(), keeping.exchanges(settings))
    assert Path(found.method).name.startswith("kernelwright-command-")
    assert not Path(found.method).exists()


def test_it_sees_no_variable_that_was_not_named(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hush")
    monkeypatch.setenv("WANTED", "yes")
    seen = "print(json.dumps({'method': str([os.environ.get(n) for n in ('SECRET_KEY', 'WANTED')]),"
    settings = program(seen + "'parameters': {}}))", command_env=("WANTED",))
    (found,) = CommandDriver(settings).propose(asked(), keeping.exchanges(settings))
    assert found.method == "[None, 'yes']"


def test_an_answer_that_cannot_be_used_is_asked_for_once_more_with_the_reason(
    keeping: Keeping,
) -> None:
    settings = program(
        "q = json.load(sys.stdin)\n"
        "if 'refused' not in q: print('prose'); sys.exit()\n"
        "assert 'no JSON object' in q['refused']\n" + ANSWER
    )
    assert CommandDriver(settings).propose(asked(), keeping.exchanges(settings))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("print('prose')", "gave no usable answer twice"),
        ("sys.exit('no licence')", "exit status 1: no licence"),
        ("time.sleep(60)", "killed after 0.5 s"),
        ("print('x' * 10_000_000)", "the answer has more than"),
    ],
)
def test_a_program_that_fails_is_told_and_may_be_mended(
    keeping: Keeping, code: str, told: str
) -> None:
    settings = program(code, timeout_s=0.5 if "sleep" in code else 30)
    with pytest.raises(PlannerFailed, match=told) as caught:
        CommandDriver(settings).propose(asked(), keeping.exchanges(settings))
    assert "--resume" in caught.value.next_step
    mended = program(ANSWER)
    assert CommandDriver(mended).propose(asked(), keeping.exchanges(mended))


def test_a_program_that_is_not_there_is_named(keeping: Keeping) -> None:
    settings = PlannerSettings(command=("no-such-planner",))
    with pytest.raises(PlannerFailed, match="no-such-planner"):
        CommandDriver(settings).propose(asked(), keeping.exchanges(settings))


def test_a_budget_that_nobody_can_count_is_refused(keeping: Keeping) -> None:
    settings = program(ANSWER, budget_tokens=10)
    with pytest.raises(PlannerFailed, match="nobody counts what this planner costs"):
        CommandDriver(settings).propose(asked(), keeping.exchanges(settings))


def test_what_was_answered_is_not_asked_again(keeping: Keeping, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    settings = program(f"open({str(ran)!r}, 'a').write('.')\n" + ANSWER)
    first, second = (
        CommandDriver(settings).propose(asked(), keeping.exchanges(settings)) for _ in range(2)
    )
    assert first == second and ran.read_text() == "."
