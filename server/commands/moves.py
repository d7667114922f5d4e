"""`kernelwright moves`: what rules can write for a kernel, what not, and why; nothing is built."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options.paths import file_there

if TYPE_CHECKING:
    from ...runners.loading.files import LoadedKernel
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

    loaded = load_file(input, Roots([input.parent, Path.cwd()]))
    found = _explained(loaded)
    if as_json:
        print(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    print("\n".join(_told(found)))


def _explained(loaded: LoadedKernel) -> tuple[Explanation, ...]:
    """Every method of the kernel's language at its baseline, in the catalogue's order. Nothing is
    built: what a toolchain finds to tune is not among it."""
    from ...search.moves import CANONICAL
    from ...search.planning.planner import Context, without_held_out
    from ...search.planning.rules import explain
    from ...search.stored.variants import state_of
    from ...store.records import KernelRecord, now

    baseline = loaded.baseline()
    variant_id = baseline.variant_id
    kernel = KernelRecord(
        kernel_id=loaded.kernel_id,
        loaded=loaded,
        odd_symbols=None,
        baseline=variant_id,
        incumbent=variant_id,
        baseline_ms={},
        opened_at=now(),
    )
    state = state_of(kernel, baseline)
    state = replace(state, spec=without_held_out(state.spec))
    found = explain(Context(search_id="", variant_id=variant_id, state=state))
    kind = loaded.spec.kernel.kernel_type
    return tuple(each for each in found if kind in CANONICAL[each.method].languages)


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
