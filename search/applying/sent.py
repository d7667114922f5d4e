"""Candidates as models send them: other names of fields, fences and prose around code, a diff
beside the whole source. They become candidates, and what was made of them is told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import model_validator

from ...runners.errors import SpecError
from ...runners.model import BuildOptions, Candidate, Proposed
from ...runners.specs.declared_plan_model import DeclaredPlan, LaunchStep
from ...runners.wording import cut
from .diffs import apply_diff

SOURCE, MEMO = ("source", "full_source", "code"), ("detail", "why", "think")
"""names under which a model may send a field, ours first"""
MEMO_LENGTH = 400
OF_A_PLAN = frozenset({*LaunchStep.model_fields, *DeclaredPlan.model_fields, "args", "constexprs"})
FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
OPEN = re.compile(r"\A\s*```[^\n`]*\n")
CODE = re.compile(r"[{};]|^\s*(#|//|/\*|import |from |def |@|\"\"\"|''')", re.MULTILINE)
"""what no prose before a fence has"""


class SentCandidate(Proposed):
    """A candidate: a method and any of diff, full source, plan, options, parameters, knobs.

    A diff together with a source means the diff, and the source where it does not fit. What is read
    from a client (`renamed`) may come under other names: `code` and `full_source` are the source,
    `why` and `think` the detail, `launch_update` parameters, plan and options.
    """

    @model_validator(mode="after")
    def _is_a_candidate(self) -> Self:
        self._with(diff=None if self.source is not None else self.diff)
        return self

    def _with(self, **changes: Any) -> Candidate:
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Candidate(**(fields | changes))

    def settled(self, base: str) -> tuple[Candidate, str]:
        """The candidate, and what was made of a diff beside a source; empty: there was one alone.

        `base`: the source that the diff is against.
        """
        if self.source is None or self.diff is None:
            return self._with(), ""
        try:
            apply_diff(base, self.diff)
        except SpecError as error:
            said = f"the source was used: the diff does not fit ({cut(error.message, 160)})"
            return self._with(diff=None), said
        return self._with(source=None), "the diff was used: it fits, so the source was left alone"


def settled(
    sent: Sequence[Candidate | SentCandidate], base: str
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Candidates of what was sent for a source, and notes on what was made of them."""
    made = [c.settled(base) if isinstance(c, SentCandidate) else (c, "") for c in sent]
    notes = tuple(f"{c.method}: {said}" for c, said in made if said)
    return tuple(c for c, _ in made), notes


def renamed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a candidate under our names, code without what is around it. A name of ours goes
    before others that mean the same; what is no text or object is left for the model to refuse."""
    found = dict(data)
    _first_of(found, SOURCE)
    _first_of(found, MEMO)
    if isinstance(found.get("detail"), str) and not isinstance(data.get("detail"), str):
        found["detail"] = cut(" ".join(found["detail"].split()), MEMO_LENGTH)
    for name in ("source", "diff"):
        if isinstance(found.get(name), str):
            found[name] = bare_code(found[name])
    update = found.get("launch_update")
    if isinstance(update, dict):
        del found["launch_update"]
        _take_launch(found, dict(update))  # pyright: ignore[reportUnknownArgumentType]
    return found


def _first_of(data: dict[str, Any], names: Sequence[str]) -> None:
    given = [data.pop(name) for name in names if data.get(name) is not None]
    for name in names[1:]:
        data.pop(name, None)
    if given:
        data[names[0]] = given[0]


def _take_launch(data: dict[str, Any], update: dict[str, Any]) -> None:
    """What belongs to a plan goes there, what the compiler is told to the options; numbers by other
    names are parameters."""
    wanted = ("plan", "parameters", "options")
    own = {n: update.pop(n) for n in wanted if isinstance(update.get(n), dict)}
    told = {n: update.pop(n) for n in BuildOptions.model_fields if n in update}
    plan = {**own.get("plan", {}), **{n: v for n, v in update.items() if n in OF_A_PLAN}}
    values = {**own.get("parameters", {}), **{n: v for n, v in update.items() if n not in plan}}
    options = {**own.get("options", {}), **told}
    for name, made in (("plan", plan), ("parameters", values), ("options", options)):
        if made:
            data[name] = made | (data.get(name) or {})


def bare_code(text: str) -> str:
    """Code without a fence and the prose around it: of several fenced pieces the longest.

    A text that does not begin with a fence, or with prose before one, is left as it is: fences may
    stand in its own comments.
    """
    pieces = list(FENCE.finditer(text))
    if pieces and not CODE.search(text[: pieces[0].start()]):
        return max((piece[1] for piece in pieces), key=len)
    return OPEN.sub("", text) if not pieces else text
