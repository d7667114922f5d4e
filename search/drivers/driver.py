"""What a driver is: it is asked with a brief, makes calls, and gives candidates.

It keeps no account and reads no store. Each call goes through the `Exchange` that it is given,
which knows what was answered before, what may be spent, and when to try again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import Field

from ...runners.model import Record, content_hash
from ..applying.sent import SentCandidate
from ..planning.brief import Brief
from ..planning.planner import Question

JsonObject = dict[str, Any]
T = TypeVar("T")
BROKEN = "broken"
"""`Returned.stop` of a call that ended before its answer did"""


class Usage(Record):
    """Tokens of one call, as the service counted them; the four are disjoint."""

    input: int = 0
    """neither written to a cache nor read from one"""
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All that was read or written."""
        return self.input + self.cache_write + self.cache_read + self.output


class Returned(Record):
    """What a call brought."""

    content: tuple[JsonObject, ...]
    """blocks as the Messages API has them; what a program printed is one of type text"""
    stop: str = "end_turn"
    """why it ended, in the API's words; `BROKEN`"""
    model: str = ""
    usage: Usage | None = None
    """None: nobody counted"""

    @property
    def text(self) -> str:
        """All text, joined."""
        return "".join(block["text"] for block in self.content if block.get("type") == "text")


class Request(Record):
    """What is known of a call before it is made."""

    model: str = ""
    """empty: it is no model that has a price"""
    most_input: int = 0
    """tokens at most that it reads: no token has less than a byte"""
    most_output: int = 0
    sections: dict[str, int] = Field(default_factory=dict[str, int])
    """what it holds, by section, with estimated tokens: the shares of what its input costs"""
    asked: str = ""
    """what was said in it that no earlier call of the same question said"""


class Interrupted(Exception):
    """A call that failed and may succeed if it is made again: overload, rate limit, network.

    `returned`: what had come by then, if that was paid for. `wait_s`: what the service asks for.
    """

    def __init__(
        self, words: str, *, wait_s: float | None = None, returned: Returned | None = None
    ) -> None:
        super().__init__(words)
        self.wait_s = wait_s
        self.returned = returned


class Exchange(Protocol):
    """Makes a call, or gives what it brought when it was made before; recorded before it returns.

    Raises BudgetSpent before a call that could cost too much, PlannerFailed when it was
    interrupted too often.
    """

    def __call__(self, request: Request, call: Callable[[], Returned]) -> Returned: ...


@dataclass(frozen=True, slots=True)
class ModelTool:
    """Something that a model may look at; it changes nothing."""

    name: str
    description: str
    schema: JsonObject
    """of its arguments"""
    run: Callable[[JsonObject], str] = field(repr=False)
    """the answer as text; what was wrong with the arguments, too, is an answer"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what whoever answers should know."""

    brief: Brief
    question: Question
    tools: Sequence[ModelTool] = ()


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """Something else than candidates that whoever plans is asked for: one answer to one text."""

    name: str
    instructions: str
    """what is asked, and the form of the answer; the same each time"""
    data: str
    """what it is asked about: a JSON object as text"""
    read: Callable[[str], T] = field(repr=False)
    """what the text of an answer says. Raises SpecError with what is wrong with it"""

    @property
    def ticket(self) -> str:
        """What its calls are kept under: the same task is paid for once."""
        return f"{self.name}-{content_hash([self.instructions, self.data])[:12]}"


class Driver(Protocol):
    """Answers questions."""

    def propose(self, asked: Asked, exchange: Exchange) -> tuple[SentCandidate, ...]:
        """Candidates; none: there is nothing more to try from here. Raises PlannerFailed,
        BudgetSpent."""
        ...

    def perform(self, task: Task[T], exchange: Exchange) -> T | None:
        """What an answer says; None: there is no usable one, or it does no tasks. Raises
        PlannerFailed, BudgetSpent."""
        ...
