"""What a tool is: a value with a name, two models and a function that knows nothing of MCP.

A new tool is a file beside this one with a `TOOL`, and a line in `TOOLS` of `tools/__init__.py`.
Imports that take time (numpy, the evaluator's processes) belong into the function: the server
reads every tool before it answers its first request.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import Field

from ..runners.described import Described
from ..runners.model import Record

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench

MAX_WAIT_S = 45.0
"""Some clients give up after 60 s; what takes longer is a job that they ask for again."""


class Arguments(Described):
    """What a tool is asked; unknown arguments are refused, field texts go into its schema.

    A tool that needs nothing takes these as they are.
    """

    told_elsewhere: ClassVar[Mapping[str, str]] = {}
    """models of rare fields whose own fields clients are not sent with every list of tools, by
    name: what is said of them there, and where the rest is"""

    @classmethod
    def as_named(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What was given, under our names: where models call a field otherwise, and mean it."""
        return given


class WorkArguments(Arguments):
    """What a tool is asked whose work may outlive the call."""

    wait_s: float = Field(default=30.0, ge=0, le=MAX_WAIT_S)
    """seconds; then a job_id"""


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A, R]):
    """One verb. The function's docstring is its description: what, when, when not, seconds.

    The function raises KernelwrightError for what it cannot do; a result is a success, also
    when a variant turned out wrong.
    """

    name: str
    title: str
    run: Callable[[Workbench, A], R]
    arguments: type[A]
    result: type[R]
    search_hint: str
    """words of somebody who looks for it and does not know its name: clients that load tools when
    they are wanted find it by these"""
    starts: bool = False
    """work starts with it: such clients have it from the beginning"""
    read_only: bool
    """nothing is written, no kernel is built or run: clients may call it beside others"""
    destructive: bool = False
    """files of the user may be replaced"""
    idempotent: bool = True
    """the same call again changes nothing more"""
    work: bool = False
    """builds or runs something: done as a job, `arguments` are WorkArguments"""
    as_user: bool = False
    """runs a program of the user with his rights, unconfined: not for who comes over a network"""
    rerun: bool = True
    """safe to run again when its process was killed in the middle of it"""

    @property
    def description(self) -> str:
        """The function's docstring: 100 to 1024 bytes."""
        return inspect.cleandoc(self.run.__doc__ or "")
