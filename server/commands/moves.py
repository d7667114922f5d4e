"""`kernelwright moves`: what rules can write for a kernel, what not, and why; nothing is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options.paths import file_there

if TYPE_CHECKING:
    from ...search.planning.rules import Explanation

MOST_CANDIDATES = 6
MEANING_CHARS, REASON_CHARS = 110, 300


def moves(
    input: Annotated[Path, typer.Option(callback=file_there, help="A spec.")],
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> None:
    """What the rules of a search can do with a kernel as it stands, and why not the rest.

    The source is read, nothing is built or run: what a compiler or a profile would tell is not
    known here, and of a Triton or CUDA kernel nothing that is found when it is built.
    """
    from ...runners.loading.files import Roots, load_file
    from ...search.session.unopened import explained_unopened

    loaded = load_file(input, Roots([input.parent, Path.cwd()]))
    found = explained_unopened(loaded)
    if as_json:
        print(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    print("\n".join(_told(found)))


def _told(found: tuple[Explanation, ...]) -> list[str]:
    fitting = sorted((e for e in found if e.candidates), key=lambda e: -e.candidates[0].prior)
    lines = ["fits, the likeliest first (weights are rules of thumb, not measured):"]
    lines += [line for each in fitting for line in _fitting(each)] or ["  nothing"]
    by_hand = [e for e in found if e.by_hand]
    if by_hand:
        lines += ["", "no rule writes these here; you, or a model, can:"]
        lines += [_line(e.method, e.reason or "") for e in by_hand]
    rest = [e for e in found if not e.candidates and not e.by_hand]
    if rest:
        lines += ["", "does not fit:"]
        lines += [_line(e.method, e.reason or "") for e in rest]
    return lines


def _fitting(found: Explanation) -> list[str]:
    from ...runners.wording import shortened

    lines = [_line(found.method, " ".join(found.why) or found.meaning)]
    for each in found.candidates[:MOST_CANDIDATES]:
        lines.append(f"    {each.prior:.2f}  {shortened(each.detail, MEANING_CHARS)}")
    more = len(found.candidates) - MOST_CANDIDATES
    return lines + ([f"    and {more} more"] if more > 0 else [])


def _line(method: str, told: str) -> str:
    from ...runners.wording import shortened

    return f"  {method}: {shortened(told, REASON_CHARS)}"
