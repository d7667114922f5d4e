"""Who planned the search that is resumed, and how it was told to: the store knows, but for keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...search.drivers.drivers import NAMES
from ...search.stored.records import SearchRecord
from ...store.searches import search_rows
from ...store.store import STATE_FILE, Store
from .options import PlannerOptions


def with_kept(told: PlannerOptions, outdir: Path, *, named: bool) -> PlannerOptions:
    """The options of a resumed run: what is told, over those that the newest search of the outdir
    was begun with. `named`: who plans is told; then only a search of that planner counts."""
    path = outdir / STATE_FILE
    if not path.is_file():
        return told
    with Store.open(path) as store:
        known = [SearchRecord.model_validate(row) for row in search_rows(store)]
    ours = [each for each in known if each.planner in ("rules", *NAMES)]
    if named:
        ours = [each for each in ours if each.planner == told.driver]
    if not ours or ours[-1].planning is None:
        return told
    last = ours[-1]
    driver = next((name for name in NAMES if name == last.planner), None)
    return replace(told, driver=driver, kept=last.planning)
