"""What resources and tasks ask of the workbench: verbs like tools, which no client is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ...runners.errors import HandleUnknown
from ...runners.model import Record
from ...store.handles import Kind, begun_with
from ...store.job_rows import job_record
from ...store.jobs import Reply
from ...store.kernels import kernel_record
from ...store.records import now
from ...store.searches import require_search, revision_of
from ...tools.base import Arguments, Tool
from ...tools.parts.jobs import record_of, reply_of
from .kinds import kind_of, text_of

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

MOST_COMPLETIONS = 100


class ReadArguments(Arguments):
    """Which resource."""

    uri: str


class ResourceText(Record):
    """A resource, whole."""

    text: str
    mime: str
    meta: dict[str, Any] | None = None


def read_resource(bench: Workbench, arguments: ReadArguments) -> ResourceText:
    """Read a resource. Raises HandleUnknown."""
    kind, handle = kind_of(arguments.uri)
    text = text_of(kind, kind.read(bench, handle))
    return ResourceText(
        text=text, mime=kind.mime, meta=None if kind.meta is None else {**kind.meta}
    )


class CompleteArguments(Arguments):
    """The beginning of a handle."""

    variable: str
    begun: str


class Completions(Record):
    """Handles that begin so."""

    values: tuple[str, ...]
    total: int


def complete(bench: Workbench, arguments: CompleteArguments) -> Completions:
    """Handles of a kind that begin as given; none for an unknown kind."""
    listed = HANDLES.get(arguments.variable)
    found = () if listed is None else listed(bench, arguments.begun)
    return Completions(values=found[:MOST_COMPLETIONS], total=len(found))


def _of(kind: Kind | Literal["job"]) -> Callable[[Workbench, str], tuple[str, ...]]:
    return lambda bench, begun: begun_with(bench.store, kind, begun)


def _skills(_: Workbench, begun: str) -> tuple[str, ...]:
    from ...skills.catalogue import catalogue

    return tuple(skill.id for skill in catalogue() if skill.id.startswith(begun))


HANDLES: Mapping[str, Callable[[Workbench, str], tuple[str, ...]]] = {
    "kernel_id": _of("kernel"),
    "kernel": _of("kernel"),
    "variant_id": _of("variant"),
    "variant": _of("variant"),
    "search_id": _of("search"),
    "search": _of("search"),
    "job_id": _of("job"),
    "skill_id": _skills,
}
"""by the name of a variable of a template, or of an argument of a prompt"""


class WatchArguments(Arguments):
    """Addresses that somebody has subscribed to."""

    uris: tuple[str, ...]


class Versions(Record):
    """A text for each address that changes when subscribers are to be told."""

    versions: dict[str, str]


def versions(bench: Workbench, arguments: WatchArguments) -> Versions:
    """How each address stands; what is gone has no version."""
    found = dict[str, str]()
    for uri in arguments.uris:
        kind, handle = kind_of(uri)
        try:
            found[uri] = STANDS[kind.name](bench, handle)
        except HandleUnknown:
            continue
    return Versions(versions=found)


def _incumbent(bench: Workbench, kernel_id: str) -> str:
    return kernel_record(bench.store, kernel_id).incumbent


def _state(bench: Workbench, job_id: str) -> str:
    return job_record(bench.store, job_id).state


def _stands(bench: Workbench, search_id: str) -> str:
    require_search(bench.store, search_id)
    return str(revision_of(bench.store, search_id))


STANDS: Mapping[str, Callable[[Workbench, str], str]] = {
    "kernel": _incumbent,
    "job": _state,
    "search": _stands,
}
"""of the kinds that are watched, by name"""


class TaskArguments(Arguments):
    """Which job."""

    job_id: str


class Task(Record):
    """A job, and when it was submitted and last changed, in UTC (ISO 8601)."""

    created_at: str
    updated_at: str
    reply: Reply


def task(bench: Workbench, arguments: TaskArguments) -> Task:
    """How a job stands now. Raises HandleUnknown."""
    record = record_of(bench, arguments.job_id)
    return Task(
        created_at=record.submitted_at,
        updated_at=record.finished_at or now(),
        reply=reply_of(bench, record),
    )


def _verb(run: Callable[[Workbench, Any], Any], arguments: type[Any], result: type[Any]) -> Any:
    return Tool(
        name=f"_{run.__name__}",
        title="",
        run=run,
        arguments=arguments,
        result=result,
        search_hint="",
        read_only=True,
    )


READ: Tool[ReadArguments, ResourceText] = _verb(read_resource, ReadArguments, ResourceText)
COMPLETE: Tool[CompleteArguments, Completions] = _verb(complete, CompleteArguments, Completions)
VERSIONS: Tool[WatchArguments, Versions] = _verb(versions, WatchArguments, Versions)
TASK: Tool[TaskArguments, Task] = _verb(task, TaskArguments, Task)
VERBS: tuple[Tool[Any, Any], ...] = (READ, COMPLETE, VERSIONS, TASK)
