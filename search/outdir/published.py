"""JSON schemas of the files that an outdir holds, by the name of the file.

Each is that of the type that is written, with its version in the name: `kernelwright schema`
prints them, and other programs may rely on fields staying what they are within a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from ...runners.errors import SpecError
from ...runners.loading.files import LoadedKernel
from ...runners.specs.spec import KernelSpec
from ..regraph.file import RegraphFile
from ..regraph.report import TacticGraph
from .events import EventLine
from .formats import BestSummary, ControlFile, OpenedBaseline, ResultFile, SearchState
from .regraph_files import DATASET, REGRAPH, TACTICS, DatasetLine
from .report import OutdirReport

VERSION = 1
DIALECT = "https://json-schema.org/draft/2020-12/schema"

PUBLISHED: Mapping[str, TypeAdapter[Any]] = MappingProxyType(
    {
        "spec.json": TypeAdapter(KernelSpec),
        "kernel.json": TypeAdapter(LoadedKernel),
        "control.json": TypeAdapter(ControlFile),
        "result.json": TypeAdapter(ResultFile | OpenedBaseline),
        "best_summary.json": TypeAdapter(BestSummary),
        "search_state.json": TypeAdapter(SearchState),
        "events.jsonl": TypeAdapter(EventLine),
        REGRAPH: TypeAdapter(RegraphFile),
        TACTICS: TypeAdapter(TacticGraph),
        DATASET: TypeAdapter(DatasetLine),
        "report.json": TypeAdapter(OutdirReport),
    }
)
"""Of files of lines: of one line. `report.json`: what `show --json` prints."""


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of a file (`.json` may be left out). Raises SpecError for an unknown one."""
    file = next((f for f in PUBLISHED if name in (f, f.partition(".")[0])), None)
    if file is None:
        raise SpecError(
            f"no file is called {name}",
            valid=", ".join(PUBLISHED),
            next_step="give one of these, or none for the list",
        )
    made = PUBLISHED[file].json_schema(mode="serialization")
    return {"$schema": DIALECT, "$id": f"kernelwright/{file}/{VERSION}", **made}
