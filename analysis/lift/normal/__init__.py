"""A lift in the form that schedules read: what is read back is known, a place has one element."""

from __future__ import annotations

from ..rewriting import numbered
from ..statements import Lifted
from .forwarding import forwarded
from .rerolled import rerolled
from .summed_in_place import summed_in_place


def normal(lifted: Lifted) -> Lifted:
    """The same kernel, its sums in variables, its values forwarded, and its vectors as single
    elements."""
    return numbered(rerolled(forwarded(summed_in_place(lifted))))
