"""Where a kernel comes from: a spec, a source file with a sentence, or the one that is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...runners.loading.files import LoadedKernel, load_file, load_source
from .goal import load_with_goal

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

SPEC_SUFFIX = ".json"


def load_path(
    bench: Workbench, path: str, goal: str = "", entry: str | None = None
) -> LoadedKernel:
    """The kernel of a spec (.json) or source file, relative to the first root.

    Raises SpecError with the spec to fill in, AccessError outside the roots.
    """
    full = bench.roots.folders[0] / Path(path)
    if full.suffix == SPEC_SUFFIX:
        return load_file(full, bench.roots)
    if goal:
        return load_with_goal(full, bench.roots, entry, goal)
    return load_source(full, bench.roots, entry)
