"""What a soak takes for a contradiction between two replies on a job."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def told(status: str) -> dict[str, Any]:
    return {"job_id": "j1", "status": status, "tool": "time_variant"}


def test_what_was_said_before_the_end_and_came_after_it_is_no_contradiction(
    script: Callable[[str], Any],
) -> None:
    ledger, asked = script("soak_ledger").Ledger(), time.monotonic()
    ledger.reply("job", told("done"), "", asked)
    ledger.reply("job", told("running"), "", asked)
    assert not ledger.faults


def test_a_job_that_runs_again_after_its_end_was_told_is_one(script: Callable[[str], Any]) -> None:
    ledger = script("soak_ledger").Ledger()
    ledger.reply("job", told("done"), "", time.monotonic())
    ledger.reply("job", told("running"), "", time.monotonic())
    assert ledger.faults == ["j1: status was done, now running"]
