"""What sets two variants of a kernel apart: in a few words, and as a unified diff."""

from __future__ import annotations

import difflib

from ..runners.model import BuildOptions, Variant, ordered


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
        parts.append("plan")
    return ", ".join(parts)


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
