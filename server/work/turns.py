"""Whose work is next: clients take turns, however much each of them asks for.

Start-time fair queueing (Goyal, Vin, Cheng 1996) with one unit a job: a job's turn is one after its
client's last one, and never before the turn that is served now, so that nobody saves up turns.
"""

from __future__ import annotations


class Turns:
    """The turns of one queue. Jobs are served by rising turn; those of one turn, as they came."""

    def __init__(self) -> None:
        self._now = 0
        self._last: dict[str, int] = {}

    def drawn(self, client: str) -> int:
        """The turn of the client's next job."""
        turn = max(self._now, self._last.get(client, -1) + 1)
        self._last[client] = turn
        return turn

    def served(self, turn: int) -> None:
        """A job of that turn begins; clients that are not ahead of it need not be remembered."""
        self._now = max(self._now, turn)
        self._last = {client: last for client, last in self._last.items() if last >= self._now}
