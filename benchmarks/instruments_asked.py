"""What tools tell a client of a profiled variant, with sizes of replies and seconds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelwright.analysis.profile.names import OPCODES
from kernelwright.evaluation.evidence.kernel_code import file_of_variant
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.model import Record
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.inspect import InspectArguments, inspect_handle
from kernelwright.tools.ncu_summary import NcuSummaryArguments, ncu_summary
from kernelwright.tools.parts.pictures import Picture
from kernelwright.tools.parts.span_rows import LineRow
from kernelwright.tools.propose_moves import ProposeMovesArguments, propose_moves
from kernelwright.tools.ptx_for_source_span import SpanArguments, SpanResult, ptx_for_source_span
from kernelwright.tools.region_dag import RegionDagArguments, region_dag

CHARS_A_TOKEN = 3
"""of code and JSON: as the tests of replies reckon"""
PICTURES: tuple[Picture, ...] = ("roofline", "stalls")
HOTTEST = 3
"""lines to list the machine code of"""


def tokens(reply: Record) -> int:
    """Of a reply as it goes over the wire, at most."""
    return len(reply.model_dump_json(exclude_none=True)) // CHARS_A_TOKEN


def summary_told(bench: Workbench, variant_id: str, reports: Path, name: str) -> dict[str, Any]:
    """The profile: seconds, the page, its skills, pictures, single metrics. Raises RuntimeError
    where nothing was counted, with the reason."""
    started = time.monotonic()
    told = ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id, again=True))
    seconds = time.monotonic() - started
    if told.without_counters is not None:
        raise RuntimeError(f"no counters: {told.without_counters}")
    again = time.monotonic()
    kept = ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id))
    kept_s = time.monotonic() - again
    pictures = {kind: _picture(bench, variant_id, kind, reports, name) for kind in PICTURES}
    found = ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id, search="tensor"))
    opcodes = ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id, metric=OPCODES))
    pages = [inspect_handle(bench, InspectArguments(what="skill", id=s)) for s in told.skills]
    return {
        "profile_s": round(seconds, 2),
        "kept_s": round(kept_s, 2),
        "kept_says_the_same": kept == told,
        "tokens": tokens(told),
        "page": told.summary,
        "skills": told.skills,
        "skill_lines": [page.total for page in pages],
        "pictures": pictures,
        "metrics_of_tensor": len(found.metrics or ()),
        "opcodes": [len(row.instances or {}) for row in opcodes.metrics or ()],
        "moves": _basis(bench, variant_id),
    }


def _picture(bench: Workbench, variant_id: str, kind: Picture, reports: Path, name: str) -> str:
    """Its file and size; or why there is none: a contract without operations has no roofline."""
    try:
        told = ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id, picture=kind))
    except KernelwrightError as error:
        return f"none: {error.message}"
    kept = reports / f"{name}.{kind}.svg"
    shutil.copyfile(str(told.picture), kept)
    return f"{kept.name}, {kept.stat().st_size} bytes"


def _basis(bench: Workbench, variant_id: str) -> dict[str, Any]:
    """What candidates rest on now that the variant was profiled."""
    kernel_id = bench.evaluator.variant(variant_id).variant.kernel_id
    asked = ProposeMovesArguments(kernel_id=kernel_id, variant_id=variant_id)
    moves = propose_moves(bench, asked)
    return {"basis": moves.basis, "first": [each.method for each in moves.moves[:HOTTEST]]}


def regions_told(bench: Workbench, variant_id: str) -> dict[str, Any]:
    """The overview, and the region that the profile blames."""
    started = time.monotonic()
    overview = region_dag(bench, RegionDagArguments(variant_id=variant_id))
    seconds = time.monotonic() - started
    blamed = str(overview.hot_region)
    name = blamed.split()[0]
    region = region_dag(bench, RegionDagArguments(variant_id=variant_id, view="region", name=name))
    assert overview.overview is not None and region.region is not None
    return {
        "seconds": round(seconds, 2),
        "tokens": [tokens(overview), tokens(region)],
        "kernel": overview.kernel,
        "hot_region": blamed,
        "hot": region.region.region.model_dump(mode="json"),
        "pipelines": overview.overview.pipelines,
        "live_registers": overview.overview.live_registers,
    }


def spans_told(bench: Workbench, variant_id: str) -> dict[str, Any]:
    """Samples by line of the whole source, and the machine code of the hottest lines."""
    started = time.monotonic()
    pages = list(_pages(bench, variant_id))
    seconds = time.monotonic() - started
    rows = [row for page in pages for row in page.lines or ()]
    ranked = sorted(rows, key=lambda row: -_samples(row))
    hottest = list(dict.fromkeys(row.line for row in ranked if _samples(row)))[:HOTTEST]
    code = [_code(bench, variant_id, line) for line in hottest]
    return {
        "seconds": round(seconds, 2),
        "tokens": [tokens(page) for page in (*pages, *code)],
        "profile": pages[0].profile,
        "missing": pages[0].missing,
        "lines": [row.model_dump(mode="json", exclude_none=True) for row in ranked[:HOTTEST]],
        "instructions": [(page.instructions or ())[:HOTTEST] for page in code],
        "sampled": [_sampled(page) for page in code],
    }


def _pages(bench: Workbench, variant_id: str) -> Iterator[SpanResult]:
    end = len(file_of_variant(bench, variant_id, None).texts)
    offset: int | None = 0
    while offset is not None:
        asked = SpanArguments(variant_id=variant_id, start=1, end=end, offset=offset)
        page = ptx_for_source_span(bench, asked)
        yield page
        offset = page.next_offset


def _code(bench: Workbench, variant_id: str, line: int) -> SpanResult:
    return ptx_for_source_span(bench, SpanArguments(variant_id=variant_id, start=line, part="sass"))


def _samples(row: LineRow) -> float:
    return 0.0 if row.profile is None else row.profile.samples


def _sampled(page: SpanResult) -> int:
    """Instructions of a page that say how many samples they have."""
    return sum(" samples" in each for each in page.instructions or ())
