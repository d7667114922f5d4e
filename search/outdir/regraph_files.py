"""ReGraph as files: what an outdir keeps of it, and what `kernelwright regraph` writes."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...runners.whole_files import write_whole
from ...store.lessons import last_transition, transition_rows
from ..regraph.file import to_json
from ..regraph.patterns import patterns
from ..regraph.picture import picture
from ..regraph.posterior import Posteriors
from ..regraph.report import tactic_graph
from ..regraph.tallies import ReGraph
from ..regraph.transition import Transition
from ..stored.experience import regraph_of

if TYPE_CHECKING:
    from ...store.store import Store

DATASET = "regraph_dataset.jsonl"
REGRAPH = "regraph.json"
TACTICS = "global_tactic_graph.json"
TAIL_BYTES = 1 << 16
"""from the end of the dataset, in which its last line is looked for"""


class DatasetLine(Transition):
    """A line of `regraph_dataset.jsonl`: a transition with its row of the store."""

    row: str


def publish(store: Store, outdir: Path, *, whole: bool) -> None:
    """Bring the dataset of an outdir up to date; if `whole`, all that follows from it as well."""
    append_dataset(store, outdir / DATASET)
    if whole:
        write_regraph(regraph_of(store), outdir)


def write_regraph(graph: ReGraph, folder: Path) -> tuple[Path, ...]:
    """The value itself, what follows from it, and its picture, each replaced whole."""
    known = Posteriors(graph)
    texts = {
        REGRAPH: to_json(graph),
        TACTICS: tactic_graph(known).model_dump_json(indent=1) + "\n",
        "patterns.md": patterns(known),
        "regraph.svg": picture(known),
    }
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(write_whole(folder / name, text) for name, text in texts.items())


def append_dataset(store: Store, path: Path) -> None:
    """Write the transitions that a dataset lacks, a line each, behind those that it has.

    A line says which row of the store it is. A file that does not end with one of this store's rows
    is written anew. Two processes may do it at once.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        last = _last_row(file.fileno())
        if last is None or last > last_transition(store):
            file.truncate(0)
            last = ""
        for row, value in transition_rows(store, last):
            line = DatasetLine.model_validate({**value, "row": row})
            file.write(json.dumps(line.model_dump(mode="json")).encode() + b"\n")


def _last_row(fd: int) -> str | None:
    """The row of the last line; "" of an empty file, None of one that ends otherwise."""
    size = os.fstat(fd).st_size
    if not size:
        return ""
    tail = os.pread(fd, TAIL_BYTES, max(0, size - TAIL_BYTES))
    if not tail.endswith(b"\n"):
        return None
    try:
        row = json.loads(tail.splitlines()[-1])["row"]
    except (ValueError, KeyError, TypeError):
        return None
    return row if isinstance(row, str) else None
