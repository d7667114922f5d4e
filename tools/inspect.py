"""The verb `inspect`: whatever has a handle, in parts, long texts by pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from ..runners.errors import SpecError
from ..runners.model import Record
from .base import Arguments, Tool
from .views.registry import VIEWS, What
from .views.view import JsonObject, Pages, View

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench

WITHOUT_ID = ("kernels", "searches", "jobs", "settings", "regraph", "skill", "host")
PAGE = {"text": 200, "entries": 20}
PAGE_CHARS = 20_000
"""of JSON"""
LONGEST_LINE = 3000
"""6 bytes of JSON a character at most"""


class InspectArguments(Arguments):
    """What to look at."""

    what: What
    """plural ones, regraph, settings and host need no id; memory takes a kernel_id"""
    id: str | None = None
    part: str = "summary"
    """kernel: summary source reference spec variants; variant: summary source diff build ptx sass
    profile evaluation history brief brief_sections; search: summary graph history calls; memory:
    summary ideas digest; regraph: summary rules"""
    offset: int = Field(default=0, ge=0)
    """first line of a text, or first entry of a list"""
    limit: int | None = Field(default=None, ge=1, le=1000)
    """default 200 lines or 20 entries"""

    @model_validator(mode="after")
    def _has_handle(self) -> InspectArguments:
        if self.id is None and self.what not in WITHOUT_ID:
            raise ValueError(f"what: {self.what} needs id; its handle")
        return self


class Inspected(Record):
    """Facts, a page of entries, or a page of a text."""

    what: What
    id: str | None = None
    part: str
    facts: JsonObject | None = None
    entries: tuple[JsonObject, ...] | None = None
    text: str | None = None
    total: int | None = None
    """lines of the whole text, or entries of the whole list"""
    next_offset: int | None = None
    """where the next page starts; None: this was the last"""


def inspect_handle(bench: Workbench, arguments: InspectArguments) -> Inspected:
    """Show anything that has a handle: kernel, variant, search, job, memory, regraph, skill, host.

    Sources, diffs and build logs come only from here, in pages of lines (offset, limit).
    memory: all that was tried on a kernel and how it ended (ideas: by idea). regraph: what methods
    brought after which others, over all kernels. skill: a page on one bottleneck or technique with
    examples; without id a line on each. host: what this machine can do. Nothing is built or run;
    takes under 1 s. What to try next is propose_moves, waiting for work is job.
    Example: {"what": "variant", "id": "v0123456789ab", "part": "diff"}
    """
    parts = VIEWS[arguments.what]
    if arguments.part not in parts:
        raise SpecError(f"{arguments.what} has no part `{arguments.part}`", valid=", ".join(parts))
    view = parts[arguments.part](bench, arguments.id or "")
    return _page(arguments, view)


def _page(arguments: InspectArguments, view: View) -> Inspected:
    shown = Inspected(what=arguments.what, id=arguments.id, part=arguments.part)
    if isinstance(view, dict):
        return shown.model_copy(update={"facts": view})
    kind = "text" if isinstance(view, str) else "entries"
    total, page = _read(view, arguments.limit or PAGE[kind], arguments.offset)
    page = page[: _fitting(page)]
    content = "".join(map(str, page)) if isinstance(view, str) else tuple(page)
    end = arguments.offset + len(page)
    following = end if end < total else None
    return shown.model_copy(update={kind: content, "total": total, "next_offset": following})


def _read(
    view: list[JsonObject] | Pages | str, limit: int, offset: int
) -> tuple[int, Sequence[object]]:
    """How many lines or entries there are, and so many of them from one on."""
    if isinstance(view, Pages):
        return view.total, view.read(limit, min(offset, view.total))
    whole = _lines(view) if isinstance(view, str) else view
    return len(whole), whole[offset:][:limit]


def _lines(text: str) -> list[str]:
    """The lines of a text; one that is too long for a page in several pieces."""
    return [
        line[start : start + LONGEST_LINE]
        for line in text.splitlines(keepends=True)
        for start in range(0, len(line), LONGEST_LINE)
    ]


def _fitting(page: Sequence[object]) -> int:
    """How many items go into a reply, at least one; clients cut what is too long."""
    sizes = accumulate(len(json.dumps(item, ensure_ascii=False)) for item in page)
    return max(1, sum(size <= PAGE_CHARS for size in sizes))


TOOL = Tool(
    name="inspect",
    title="Look at anything that has a handle",
    run=inspect_handle,
    arguments=InspectArguments,
    result=Inspected,
    search_hint="show source, diff, log, history, kernels, searches, jobs, memory, skills, "
    "settings, this machine",
    read_only=True,
)
