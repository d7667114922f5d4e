"""What sets two variants of a kernel apart: in a few words, and as a unified diff."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from ..runners.model import BuildOptions, Variant, ordered
from ..runners.wording import shortened

AXES_OF, STEPS = ("grid", "block", "cluster"), ("setup", "steps")
"""of a launch, what has up to three axes; of a plan, what is done in order"""
LAUNCH_LENGTH = 160


def changed_between(before: Variant, after: Variant) -> str:
    """`TILE=32, source (+4 -1 lines)`: what `after` has that `before` has not; empty if nothing."""
    parts = list[str]()
    values = {n: v for n, v in after.parameters.items() if before.parameters.get(n) != v}
    if values:
        parts.append(ordered(values))
    if before.options != after.options:
        parts.append(_options(after.options))
    if before.source_key != after.source_key:
        lines = source_diff(before.source, after.source, "kernel").splitlines()[2:]
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        parts.append(f"source (+{added} -{removed} lines)")
    if before.plan != after.plan:
        words = "the spec's" if after.plan is None else launch_words(after.plan, before.plan or {})
        parts.append(f"launch ({shortened(words, LAUNCH_LENGTH)})")
    return ", ".join(parts)


def launch_words(plan: Mapping[str, Any], before: Mapping[str, Any] = MappingProxyType({})) -> str:
    """`grid cdiv(n, TILE) x 2, num_warps 8`: what a plan says, as far as another one does not."""
    known = {_field(*each) for each in before.items()}
    said = (_field(*each) for each in plan.items())
    return ", ".join(each for each in said if each not in known) or "as before"


def _field(name: str, value: Any) -> str:
    if name in STEPS:
        return f"{name} {'; '.join(map(_step, value))}"
    if name in AXES_OF and isinstance(value, list | tuple):
        axes = [*map(str, cast(Sequence[object], value))]
        while len(axes) > 1 and axes[-1] == "1":
            axes.pop()
        return f"{name} {' x '.join(axes)}"
    if isinstance(value, Mapping):
        named = cast(Mapping[str, Any], value)
        return f"{name} {' '.join(f'{key}={_word(each)}' for key, each in named.items())}"
    return f"{name} {_word(value)}"


def _step(step: Mapping[str, Any]) -> str:
    """Its kind and what it is of come first."""
    ((kind, name), *_) = step.items()
    shape = (_field(axes, step[axes]) for axes in AXES_OF if step.get(axes))
    return " ".join([kind, _word(name), *shape])


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)


def source_diff(before: str, after: str, name: str) -> str:
    """Unified diff of two sources under one file name; empty when they are the same text."""
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        f"a/{name}",
        f"b/{name}",
        lineterm="",
    )
    return "".join(line + "\n" for line in lines)


def _options(options: BuildOptions) -> str:
    words = [options.compiler] if options.compiler else []
    return " ".join([*words, *(options.flags or ())]) or "default options"
