"""Loads that a kernel repeats at the same addresses: the first one's values are kept."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...shared.edits import Edit
from .kernels import Kernel
from .nodes import walk
from .source import argument, is_call
from .tiles import pointer_of
from .values import Values


def loaded_once(kernel: Kernel, arrays: Iterable[str]) -> list[Edit]:
    """Edits after which equal loads of `arrays`, which nothing writes, are one.

    Statements of the body count, not those in loops and branches. A load that fills masked
    lanes otherwise than the first one does so with `tl.where`.
    """
    values, own = Values(kernel), set(arrays)
    groups = dict[tuple[str, str], list[ast.Call]]()
    for statement in kernel.body:
        if isinstance(statement, ast.For | ast.While | ast.If):
            continue
        for node in walk(statement):
            if isinstance(node, ast.Call) and is_call(node, "load"):
                if pointer_of(values, node) in own:
                    groups.setdefault(_place(values, node, statement), []).append(node)
    repeated = [g for g in groups.values() if len(g) > 1]
    taken = list[str]()
    edits = list[Edit]()
    for group in repeated:
        name = kernel.fresh(
            f"{pointer_of(values, group[0])}_values{len(taken) + 1 if taken else ''}"
        )
        taken.append(name)
        edits += _as_one(kernel, values, group, name)
    return edits


def _place(values: Values, load: ast.Call, at: ast.stmt) -> tuple[str, str]:
    pointer, mask = argument(load, 0, "pointer"), argument(load, 1, "mask")
    assert pointer is not None
    texts = [None if n is None else ast.unparse(values.expanded(n, at)) for n in (pointer, mask)]
    return str(texts[0]), str(texts[1])


def _as_one(kernel: Kernel, values: Values, group: list[ast.Call], name: str) -> list[Edit]:
    source, first = kernel.source, group[0]
    fill = argument(first, 2, "other")
    edits = [source.before(values.statement(first), f"{name} = {source.text(first)}")]
    for load in group:
        own, mask = argument(load, 2, "other"), argument(load, 1, "mask")
        filled = own is None or (fill is not None and ast.dump(own) == ast.dump(fill))
        if filled or mask is None:
            edits.append(source.replace(load, name))
        else:
            assert own is not None
            text = f"tl.where({source.text(mask)}, {name}, {source.text(own)})"
            edits.append(source.replace(load, text))
    return edits
