"""`kernelwright selftest`: tries the library of cheats in a folder of its own, and tells."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ..tools.cheats import catalogue, chosen, impossible
from ..tools.selftest import Outcome, selftest
from ..tools.workbench import Workbench
from .selftest_table import (
    impossible_table,
    outcome_row,
    selftest_table,
    verdict_text,
    write_outcomes,
)
from .tables import console


def run_selftest(
    tier: str, only: Sequence[str], json_file: Path | None, gpus: Sequence[str]
) -> int:
    """The exit status: 0 when all ended as they should. `tier`: native, device or all.

    Raises SpecError for a name that is no page, and what opening the victims raises.
    """
    of_tier = [cheat for cheat in catalogue() if tier in ("all", cheat.tier)]
    cheats, started = chosen(only, of_tier), time.monotonic()
    outcomes = list[Outcome]()
    with tempfile.TemporaryDirectory(prefix="kernelwright-selftest-") as folder:
        place = Path(folder)
        with Workbench(place, [place], gpus) as bench:
            for outcome in selftest(bench, cheats):
                outcomes.append(outcome)
                print(f"{len(outcomes)} of {len(cheats)}, {outcome_row(outcome)}", file=sys.stderr)
    seconds = time.monotonic() - started
    show = console()
    show.print(selftest_table(cheats, outcomes))
    if not only:
        show.print(impossible_table(impossible()))
    print(f"{verdict_text(outcomes)}\n{seconds:.0f} s")
    if json_file is not None:
        write_outcomes(json_file, outcomes, seconds)
    return 0 if all(outcome.good for outcome in outcomes) else 1
