"""What a view is: a function from a handle to facts, entries or a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pages:
    """Entries of which no more is read than what is shown, as there is no end to how many there
    come to be."""

    total: int
    read: Callable[[int, int], list[JsonObject]]
    """so many, from which one on"""


View = JsonObject | list[JsonObject] | Pages | str
"""Facts, entries or a text."""
Parts = Mapping[str, Callable[["Workbench", str], View]]
"""What `inspect` can show of one kind of handle, by the name of the part."""
