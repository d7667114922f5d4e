"""Every kind of resource: its address, what it holds, and how it is read.

Most are what `inspect` shows in pages, whole. A read builds and runs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...runners.errors import HandleUnknown, SpecError
from ...runners.wording import cut
from ...tools.views.registry import VIEWS, What
from ...tools.views.view import Pages, View
from ..dashboard.facts import DATA
from ..protocol.apps import MIME, PAGE, PAGE_META

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

SCHEME = "kernelwright://"
MOST_CHARS = 4_000_000
"""of a resource: what is longer is cut, and says so at its end"""
MOST_ENTRIES = 1000
"""of a list without end, those that `inspect` shows first"""
NEWEST_EVENTS = 1 << 20
"""bytes: of a longer log the end"""
Mime = Literal[
    "text/plain",
    "text/markdown",
    "application/json",
    "application/x-ndjson",
    "text/html;profile=mcp-app",
]
Read = Callable[["Workbench", str], View]
VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Kind:
    """Resources of one form. `address` follows `scheme` and has one variable or none."""

    address: str
    name: str
    description: str
    read: Read
    mime: Mime = "text/plain"
    for_people: bool = False
    """tells of held-out workloads, which nobody who plans should see"""
    watched: bool = False
    """subscribers are told when it changes"""
    scheme: str = SCHEME
    meta: Mapping[str, Any] | None = None
    """`_meta` of its content"""

    @property
    def uri(self) -> str:
        """The address, or the template of all addresses."""
        return self.scheme + self.address

    @property
    def variable(self) -> str | None:
        """The name of its handle; None: there is one such resource."""
        found = VARIABLE.search(self.address)
        return None if found is None else found.group(1)

    def handle(self, uri: str) -> str | None:
        """The handle in an address of this form, empty where it has none; None: another form."""
        before, _, after = VARIABLE.sub("{}", self.uri).partition("{}")
        if self.variable is None:
            return "" if uri == before else None
        found = re.fullmatch(rf"{re.escape(before)}([\w.-]+){re.escape(after)}", uri)
        return None if found is None else found.group(1)


def _view(what: What, part: str = "summary") -> Read:
    return VIEWS[what][part]


def _report(bench: Workbench, kernel_id: str) -> View:
    from ..report.markdown import markdown
    from ..report.reading import report_on

    return markdown(report_on(bench, kernel_id, bench.files.folder(kernel_id)))


def _events(bench: Workbench, kernel_id: str) -> View:
    from ...search.outdir.events import EVENTS

    path = bench.files.folder(kernel_id) / EVENTS
    if not path.exists():
        return ""
    with path.open("rb") as log:
        size = log.seek(0, 2)
        log.seek(max(0, size - NEWEST_EVENTS))
        text = log.read(NEWEST_EVENTS).decode("utf-8", errors="replace")
    return text if size <= NEWEST_EVENTS else text.partition("\n")[2]


def _trace(bench: Workbench, search_id: str) -> View:
    from ...search.outdir.trace import SearchTrace, trace
    from ...search.stored.graph import graph_of
    from ...search.stored.records import SearchRecord
    from ...store.evaluations import confirmation_of
    from ...store.kernels import kernel_record
    from ...store.searches import search_record
    from ...store.variants import variants_by_id

    search = search_record(bench.store, search_id, SearchRecord)
    kernel = kernel_record(bench.store, search.kernel_id)
    variants = variants_by_id(bench.store, search.kernel_id)
    confirmation = confirmation_of(bench.store, kernel.incumbent)
    graph = graph_of(bench.store, search_id)
    return trace(SearchTrace(kernel, search, graph, variants, confirmation))


def _page(_: Workbench, __: str) -> View:
    from ..dashboard.embedded import embedded

    return embedded()


JSON, MARKDOWN = "application/json", "text/markdown"
KINDS: tuple[Kind, ...] = (
    Kind("kernels", "kernels", "Every kernel, with its incumbent", _view("kernels"), JSON),
    Kind("jobs", "jobs", f"The {MOST_ENTRIES} newest jobs", _view("jobs"), JSON),
    Kind("host", "host", "What this machine can do", _view("host"), JSON),
    Kind("settings", "settings", "Every setting of a search", _view("settings"), JSON),
    Kind("regraph", "regraph", "What methods brought after which others", _view("regraph"), JSON),
    Kind("skills", "skills", "Pages of expert knowledge, a line each", _view("skill"), MARKDOWN),
    Kind(
        "skill/{skill_id}", "skill", "A page on a bottleneck or technique", _view("skill"), MARKDOWN
    ),
    Kind(
        "kernel/{kernel_id}",
        "kernel",
        "Incumbent, times, searches of a kernel; subscribers are told of a new incumbent",
        _view("kernel"),
        JSON,
        watched=True,
    ),
    Kind(
        "kernel/{kernel_id}/source", "kernel source", "As it was opened", _view("kernel", "source")
    ),
    Kind(
        "kernel/{kernel_id}/reference",
        "kernel reference",
        "What its outputs are compared with",
        _view("kernel", "reference"),
    ),
    Kind(
        "kernel/{kernel_id}/spec", "kernel spec", "Visible workloads", _view("kernel", "spec"), JSON
    ),
    Kind(
        "kernel/{kernel_id}/variants",
        "kernel variants",
        "Every variant and how it ended",
        _view("kernel", "variants"),
        JSON,
    ),
    Kind("memory/{kernel_id}", "memory", "All that was tried, with lessons", _view("memory"), JSON),
    Kind(
        "kernel/{kernel_id}/report",
        "kernel report",
        "Verdict, ladder to the winner, endings, roofline, cost",
        _report,
        MARKDOWN,
        for_people=True,
    ),
    Kind(
        "kernel/{kernel_id}/events",
        "kernel events",
        "The log of its searches, an event a line",
        _events,
        "application/x-ndjson",
        for_people=True,
    ),
    Kind("variant/{variant_id}", "variant", "What became of a variant", _view("variant"), JSON),
    Kind("variant/{variant_id}/source", "variant source", "Whole", _view("variant", "source")),
    Kind(
        "variant/{variant_id}/diff",
        "variant diff",
        "Against its parent",
        _view("variant", "diff"),
    ),
    Kind("variant/{variant_id}/log", "build log", "What its build told", _view("variant", "build")),
    Kind(
        "variant/{variant_id}/evaluation",
        "evaluation",
        "Every gate and the comparison",
        _view("variant", "evaluation"),
        JSON,
    ),
    Kind("variant/{variant_id}/ptx", "PTX", "As the compiler made it", _view("variant", "ptx")),
    Kind("variant/{variant_id}/sass", "SASS", "Machine code", _view("variant", "sass")),
    Kind(
        "variant/{variant_id}/profile",
        "profile",
        "Counters of Nsight Compute, by workload",
        _view("variant", "profile"),
        JSON,
    ),
    Kind(
        "search/{search_id}",
        "search",
        "How a search stands; subscribers are told of each step",
        _view("search"),
        JSON,
        watched=True,
    ),
    Kind("search/{search_id}/graph", "search graph", "Its nodes", _view("search", "graph"), JSON),
    Kind(
        "search/{search_id}/history",
        "search history",
        "Every candidate in the order of proposal",
        _view("search", "history"),
        JSON,
    ),
    Kind(
        "search/{search_id}/trace",
        "search trace",
        "The search told in a page",
        _trace,
        MARKDOWN,
        for_people=True,
    ),
    Kind(
        "job/{job_id}",
        "job",
        "A job and its result; subscribers are told of its state",
        _view("job"),
        JSON,
        watched=True,
    ),
)
"""In the order in which clients list them."""
PAGES: tuple[Kind, ...] = (
    Kind(
        "",
        "dashboard",
        "The dashboard, in a client",
        _page,
        MIME,
        for_people=True,
        scheme=PAGE,
        meta=PAGE_META,
    ),
    *(
        Kind(f"dashboard/{path}", path, "What it shows", read, JSON, for_people=True)
        for path, read in DATA.items()
    ),
)
"""What a client shows beside a reply, and what that page asks for: listed nowhere."""


def kind_of(uri: str) -> tuple[Kind, str]:
    """What an address names: its kind, and the handle in it. Raises HandleUnknown."""
    for kind in (*KINDS, *PAGES):
        handle = kind.handle(uri)
        if handle is not None:
            return kind, handle
    raise HandleUnknown(
        f"there is no resource {cut(uri, 200)!r}",
        valid=", ".join(kind.uri for kind in KINDS),
    )


def text_of(kind: Kind, view: View) -> str:
    """A view as the text of a resource."""
    if isinstance(view, str):
        if kind.mime == JSON:  # says why there is nothing
            view = {"message": view.strip()}
        else:
            return _cut(view)
    if isinstance(view, Pages):
        view = view.read(MOST_ENTRIES, 0)
    return _cut(json.dumps(view, indent=1, ensure_ascii=False))


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return text
    said = f"\n... {len(text) - MOST_CHARS} more characters; `inspect` shows all of it in pages\n"
    return text[:MOST_CHARS] + said


def require_watched(uri: str) -> None:
    """Raises SpecError for a resource of whose changes nobody is told, HandleUnknown for none."""
    kind, _ = kind_of(uri)
    if not kind.watched:
        raise SpecError(
            f"{cut(uri, 200)} cannot be subscribed to: nobody is told of its changes",
            valid=", ".join(each.uri for each in KINDS if each.watched),
        )
