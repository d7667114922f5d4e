"""What the dashboard shows, from the store: lists and graphs as JSON, a kernel's report as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...tools.views.registry import VIEWS, What
from ...tools.views.view import Pages
from ..report.page import body
from ..report.reading import report_on
from .looked_into import looked_into

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

Json = dict[str, Any]
MOST_JOBS = 50
LONGEST_TEXT = 200_000
"""characters of a source or diff"""


def overview(bench: Workbench) -> Json:
    """Kernels, searches and the newest jobs."""
    view = VIEWS["searches"]["summary"](bench, "")
    assert isinstance(view, list)
    searches = [
        dict(each) | {"stands": _facts(bench, "search", each["search_id"])} for each in view
    ]
    jobs = VIEWS["jobs"]["summary"](bench, "")
    assert isinstance(jobs, Pages)
    kernels = VIEWS["kernels"]["summary"](bench, "")
    return {"kernels": kernels, "searches": searches, "jobs": jobs.read(MOST_JOBS, 0)}


def kernel_page(bench: Workbench, kernel_id: str) -> str:
    """The report on a kernel, as HTML to be put into the page: everything in it is escaped.

    Raises HandleUnknown.
    """
    return "\n".join(body(report_on(bench, kernel_id, bench.files.folder(kernel_id))))


def search_graph(bench: Workbench, search_id: str) -> Json:
    """Nodes and edges of a search. Raises HandleUnknown."""
    return {
        "stands": _facts(bench, "search", search_id),
        "nodes": VIEWS["search"]["graph"](bench, search_id),
        "edges": VIEWS["search"]["history"](bench, search_id),
    }


def variant(bench: Workbench, variant_id: str) -> Json:
    """A variant with its verdict, gates, diff, source, findings and what its PTX does otherwise
    than its parent's. Raises HandleUnknown."""
    texts = {part: VIEWS["variant"][part](bench, variant_id) for part in ("diff", "source")}
    cut = {part: str(text)[:LONGEST_TEXT] for part, text in texts.items()}
    looked = looked_into(bench, variant_id)
    return {"summary": _facts(bench, "variant", variant_id), **cut, "looked_into": looked}


def host(bench: Workbench) -> Json:
    """What this machine can do."""
    return _facts(bench, "host", "")


DATA: Mapping[str, Callable[[Workbench, str], Json]] = {
    "overview": lambda bench, _: overview(bench),
    "host": lambda bench, _: host(bench),
    "search/{search_id}": search_graph,
    "variant/{variant_id}": variant,
    "kernel/{kernel_id}": lambda bench, handle: {"html": kernel_page(bench, handle)},
}
"""by the address under which the page asks for it"""


def _facts(bench: Workbench, what: What, handle: str) -> Json:
    found = VIEWS[what]["summary"](bench, handle)
    assert isinstance(found, dict)
    return found
