"""Whole searches that a model answers: the real SDK over HTTP, real builds of a host kernel."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from messages_api import USAGE, Refuses, Says, candidates
from model_searches import (
    A_CALL,
    BROKEN,
    CHEAT,
    FLAGS,
    MENDED,
    Run,
    first_then_nothing,
    question,
)
from typer.testing import CliRunner

from kernelwright.runners.model import Ending
from kernelwright.search.session.optimize import Failed
from kernelwright.search.session.workbench import Workbench
from kernelwright.server import cli
from kernelwright.tools.inspect import InspectArguments, Inspected, inspect_handle


def mending(body: dict[str, Any]) -> Says:
    """A model that first breaks the kernel, cheats and sets flags, and mends what did not build."""
    if "was not declared in this scope" in question(body).partition("## Tried")[0]:
        return Says(candidates(MENDED))
    return first_then_nothing(FLAGS, BROKEN, CHEAT)(body)


def test_what_fails_goes_back_with_its_reason_and_is_mended(run: Run) -> None:
    ran = run(mending)
    assert ran.steps["counts j"] is Ending.build_failed
    assert ran.steps["one element"] is Ending.wrong
    assert ran.steps["i again"].measured and ran.steps["vectorise"].measured
    assert any("worst at [4567]" in question(body) for body in ran.asked)
    assert ran.stopped == "exhausted"
    assert ran.costs.all.calls == len(ran.asked) == len(ran.calls)
    assert ran.costs.all.usd == A_CALL * len(ran.asked)
    assert ran.costs.all.usage.total == 1100 * len(ran.asked)
    assert sum(ran.costs.by_section.values()) == 1000 * len(ran.asked)
    told = str([(body["system"], body["messages"]) for body in ran.asked])
    assert "n=8192" in told and "unseen" not in told and "5001" not in told


def test_what_was_asked_and_answered_and_what_it_cost_is_read_afterwards(
    run: Run, tmp_path: Path
) -> None:
    ran = run(Says(candidates(BROKEN)), Says(candidates()))
    search_id = ran.calls[0].search_id
    with Workbench(tmp_path / "out", [tmp_path]) as bench:

        def part(name: str) -> Inspected:
            asked = InspectArguments(what="search", id=search_id, part=name)
            return inspect_handle(bench, asked)

        facts, calls = part("summary").facts, part("calls").entries
    assert facts is not None and facts["costs"] == ran.costs.model_dump(mode="json")
    assert calls is not None and len(calls) == len(ran.asked)
    assert (calls[0]["usd"], calls[0]["stop"]) == ("0.006", "end_turn")
    assert "rewrite" in str(calls[0]["said"]) and "void bump" in calls[0]["asked"]
    shown = CliRunner().invoke(cli.app, ["show", str(tmp_path / "out"), search_id]).output
    assert f"  claude-opus-5-5: {ran.costs.all.describe()}\n" in shown
    assert "tokens of their input by section: " in shown
    reported = CliRunner().invoke(cli.app, ["report", str(tmp_path / "out"), "bump"])
    assert reported.exit_code == 0, reported.output
    told = (tmp_path / "out" / "kernels" / "bump" / "report.md").read_text("utf-8")
    assert f"- answers: {ran.costs.all.describe()}\n" in told and "| build_failed | 1 |" in told


def test_a_model_that_repeats_itself_comes_to_an_end(run: Run) -> None:
    ran = run(Says(candidates(BROKEN)))
    assert ran.steps == {"counts j": Ending.build_failed}
    assert ran.stopped == "exhausted"
    assert len([each for each in ran.calls if not each.ticket.startswith("relabel")]) <= 4


def test_a_run_that_broke_off_is_resumed_without_asking_a_paid_question_again(run: Run) -> None:
    broke_off = run(Says(candidates(BROKEN)), Refuses(529, "overloaded_error"), retries=0)
    (failed,) = (each for each in broke_off.events if isinstance(each, Failed))
    assert "--resume" in str(failed.error)
    assert broke_off.steps == {"counts j": Ending.build_failed} and len(broke_off.calls) == 1
    resumed = run(Says(candidates()), resume=True)
    assert resumed.stopped == "exhausted" and resumed.asked
    assert resumed.calls[0] == broke_off.calls[0]
    assert len(resumed.calls) == 1 + len(resumed.asked)
    assert question(broke_off.asked[0]) not in map(question, resumed.asked)


def test_a_budget_of_money_ends_the_search_with_what_it_has_and_a_larger_one_goes_on(
    run: Run,
) -> None:
    dear = Says(candidates(BROKEN), usage={**USAGE, "input_tokens": 100_000})
    spent = run(dear, budget_usd="0.5")
    assert spent.stopped == "money" and len(spent.asked) == 1
    assert spent.costs.all.usd == Decimal("0.402")
    assert spent.steps == {"counts j": Ending.build_failed}
    more = run(Says(candidates()), resume=True, budget_usd="2")
    assert more.stopped == "exhausted" and more.asked
    assert more.calls[:1] == spent.calls
