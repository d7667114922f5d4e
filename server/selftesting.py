"""`kernelwright selftest`: tries the library of cheats in a folder of its own, and tells."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ..runners.errors import AccessError
from ..search.session.workbench import Workbench
from .headless import Stopped, stopped_by_signals
from .selftest.cheats import Cheat, chosen_of_tier, impossible
from .selftest.running import Outcome, selftest
from .selftest_table import (
    impossible_table,
    outcome_row,
    selftest_table,
    verdict_text,
    write_outcomes,
)
from .terminal.grid import console


def run_selftest(
    tier: str, only: Sequence[str], json_file: Path | None, gpus: Sequence[str]
) -> int:
    """The exit status: 0 when all ended as they should, 128 and the signal's number when stopped:
    what was tried by then is told and written. `tier`: native, device or all.

    Raises SpecError for a name that is no page, AccessError for a file that cannot be written, and
    what opening the victims raises.
    """
    cheats, started = chosen_of_tier(only, tier), time.monotonic()
    if json_file is not None:
        _must_be_writable(json_file)
    outcomes, stopped = list[Outcome](), 0
    try:
        with stopped_by_signals():
            _try(cheats, outcomes, gpus)
    except Stopped as signalled:
        stopped = signalled.number
    seconds = time.monotonic() - started
    show = console()
    if outcomes:
        show.print(selftest_table(cheats, outcomes, narrow=show.width < 110))
    if not (only or stopped):
        show.print(impossible_table(impossible()))
    print(f"{verdict_text(outcomes)}\n{seconds:.0f} s".strip())
    if stopped:
        print(f"stopped: {len(cheats) - len(outcomes)} of {len(cheats)} pages were not tried")
    if json_file is not None:
        write_outcomes(json_file, outcomes, seconds, pages=len(cheats))
    if stopped:
        return 128 + stopped
    return 0 if all(outcome.good for outcome in outcomes) else 1


def _try(cheats: Sequence[Cheat], outcomes: list[Outcome], gpus: Sequence[str]) -> None:
    """Try every page, with a line for each on stderr."""
    victims = len({cheat.page.victim for cheat in cheats})
    print(
        f"pages: {len(cheats)}, kernels that they attack: {victims}. A kernel is opened, and all "
        "its pages are built, before the first of them is tried.",
        file=sys.stderr,
    )
    with tempfile.TemporaryDirectory(prefix="kernelwright-selftest-") as folder:
        place = Path(folder)
        with Workbench(place, [place], gpus) as bench, closing(selftest(bench, cheats)) as tried:
            for outcome in tried:
                outcomes.append(outcome)
                print(f"{len(outcomes)} of {len(cheats)}, {outcome_row(outcome)}", file=sys.stderr)


def _must_be_writable(path: Path) -> None:
    """Before minutes of work, not after them."""
    place = path if path.exists() else path.parent
    if not (place.exists() and os.access(place, os.W_OK)):
        raise AccessError(
            f"{path} cannot be written", valid="a file in a folder that is there and may be written"
        )
