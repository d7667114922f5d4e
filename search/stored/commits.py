"""What a search writes to the store as it goes on: its graph, and the questions that it puts."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...runners.errors import HandleUnknown
from ...runners.model import content_hash
from ...store.searches import count_commit, known_ticket, put_graph_rows, put_ticket, revision_of
from ...store.store import Store, Writer
from ..engine.work import Changes
from ..planning.planner import Question
from .records import NeedsCandidates, Ticket


class SearchCommits:
    """Commits of one search, by whoever holds it."""

    def __init__(self, store: Store, search_id: str, revision: int) -> None:
        """`revision`: of the search in the store when its graph was read (`revision_of`)."""
        self._store, self._search_id, self._revision = store, search_id, revision

    @property
    def is_latest(self) -> bool:
        """Whether nobody else has written to the search meanwhile."""
        return revision_of(self._store, self._search_id) == self._revision

    @contextmanager
    def commit(self, changes: Changes) -> Generator[Writer]:
        """One transaction with what changed in the graph, and whatever else is written in it."""
        with self._store.transaction() as writer:
            self._revision = count_commit(writer, self._search_id)
            put_graph_rows(writer, self._search_id, changes.nodes, changes.edges)
            yield writer

    def ask(self, node_id: str, question: Question, changes: Changes) -> NeedsCandidates:
        """The question with a ticket that is not answered yet."""
        ticket = "t" + content_hash([self._search_id, node_id, len(question.tried)], 10)
        with self.commit(changes) as writer:
            known = known_ticket(self._store, ticket, Ticket)
            # Asked again after an answer of which nothing was new, it takes another one.
            if known is None or known.answered:
                put_ticket(writer, ticket, Ticket(search_id=self._search_id, node_id=node_id))
        return NeedsCandidates(search_id=self._search_id, ticket=ticket, question=question)

    def unanswered(self, ticket: str) -> Ticket:
        """A ticket of this search. Raises HandleUnknown for one that is unknown, answered, or of
        another search."""
        known = known_ticket(self._store, ticket, Ticket)
        if known is None or known.search_id != self._search_id or known.answered:
            state = "unknown here" if known is None else "answered already"
            raise HandleUnknown(
                f"ticket `{ticket}` is {state}",
                next_step=f"call search_step with search_id {self._search_id} for a new question",
            )
        return known

    def answered(self, ticket: str, known: Ticket, changes: Changes) -> None:
        """Commit what the answer to a ticket changed."""
        with self.commit(changes) as writer:
            put_ticket(writer, ticket, known.model_copy(update={"answered": True}))
