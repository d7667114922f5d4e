"""Resources as the protocol has them: their lists, which `kept_lists.py` keeps, and completion."""

from __future__ import annotations

from functools import cache

from mcp_types import (
    Annotations,
    Completion,
    PromptReference,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
)

from .kinds import KINDS, Kind


@cache
def listed_resources() -> tuple[Resource, ...]:
    """Those that are there in every project."""
    return tuple(
        Resource(
            uri=kind.uri,
            name=kind.name,
            description=kind.description,
            mime_type=kind.mime,
            annotations=_audience(kind),
        )
        for kind in KINDS
        if kind.variable is None
    )


@cache
def listed_templates() -> tuple[ResourceTemplate, ...]:
    """Those that have a handle."""
    return tuple(
        ResourceTemplate(
            uri_template=kind.uri,
            name=kind.name,
            description=kind.description,
            mime_type=kind.mime,
            annotations=_audience(kind),
        )
        for kind in KINDS
        if kind.variable is not None
    )


def is_known(ref: PromptReference | ResourceTemplateReference, argument: str) -> bool:
    """Whether handles complete that argument of a prompt or variable of a template."""
    if isinstance(ref, PromptReference):
        return argument in ("kernel", "variant", "search")
    return any(kind.uri == ref.uri and kind.variable == argument for kind in KINDS)


def completion(values: tuple[str, ...], total: int) -> Completion:
    """Values as clients get them."""
    return Completion(values=list(values), total=total, has_more=total > len(values))


def _audience(kind: Kind) -> Annotations | None:
    return Annotations(audience=["user"]) if kind.for_people else None
