"""Searches that stay in memory between calls: reading a large one from the store takes seconds."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from .session import SearchSession

MOST: Final = 4
"""sessions that are kept, those used last"""
MOST_EDGES: Final = 200_000
"""of all kept sessions together, where there is more than one: about 0.7 GB"""


class KeptSessions:
    """Sessions that nobody uses now, by search. For any number of threads: a session that is lent
    is not here, and holds its search; one that is kept does not."""

    def __init__(self) -> None:
        self._kept = dict[str, "SearchSession"]()
        self._lock = threading.Lock()

    def resume(self, bench: Bench, search_id: str) -> SearchSession:
        """The kept session; one from the store where there is none, or where somebody else has
        written to the search since. Raises HandleUnknown and SearchBusy."""
        from .session import SearchSession

        with self._lock:
            known = self._kept.pop(search_id, None)
        if known is not None:
            with ExitStack() as given_up:
                given_up.callback(known.close)
                if known.go_on():
                    given_up.pop_all()
                    return known
        return SearchSession.resume(bench, search_id)

    @contextmanager
    def lent(self, session: SearchSession) -> Generator[None]:
        """Keep the session after the body; one that raised may not be what the store has, and is
        closed."""
        try:
            yield
            session.pause()
        except BaseException:
            session.close()
            raise
        with self._lock:
            replaced = self._kept.pop(session.search_id, None)
            self._kept[session.search_id] = session
            dropped = self._over()
        for each in (*dropped, *([replaced] if replaced else [])):
            each.close()

    def close(self) -> None:
        """Close all that are kept."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
        for each in kept:
            each.close()

    def _over(self) -> list[SearchSession]:
        """Take out those that are too many, longest unused first."""
        dropped = list["SearchSession"]()
        while len(self._kept) > 1 and (
            len(self._kept) > MOST or sum(s.edges for s in self._kept.values()) > MOST_EDGES
        ):
            dropped.append(self._kept.pop(next(iter(self._kept))))
        return dropped
