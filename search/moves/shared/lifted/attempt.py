"""What a schedule writes of what it read, or why it writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..base import NotApplicable, Proposals
from .c_expressions import Unwritable

Read = TypeVar("Read")


def written_of(
    read: Callable[[], Read | NotApplicable], write: Callable[[Read], Proposals], what: str
) -> Proposals:
    """The candidates of a schedule; what it cannot write is its reason. A fault of reader or writer
    is the move's to tell (`MoveFault`)."""
    try:
        found = read()
        return found if isinstance(found, NotApplicable) else write(found)
    except Unwritable as error:
        return NotApplicable(f"no {what} can be written: {error}")
