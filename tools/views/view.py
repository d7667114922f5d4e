"""What a view is: a function from a handle to facts, entries or a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

JsonObject = dict[str, Any]
View = JsonObject | list[JsonObject] | str
"""Facts, entries or a text."""
Parts = Mapping[str, Callable[["Workbench", str], View]]
"""What `inspect` can show of one kind of handle, by the name of the part."""
