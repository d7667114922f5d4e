"""What a server asks to perform verbs: a desk of its own, or a broker's.

The tools are named for type checkers alone: a server tells its lists before it loads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...runners.model import Record
    from ...tools.base import Arguments, Tool


class Performs(Protocol):
    """Performs verbs, from any thread."""

    def perform(self, tool: Tool[Any, Any], arguments: Arguments) -> Record:
        """The tool's result; for work, the result or the job that will have it.

        Raises KernelwrightError.
        """
        ...

    def close(self) -> None:
        """End what was started for it in this process; may be called again."""
        ...
