"""Keys of the store, and what reads and writes any table, are known beside the store alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import import_graph
import pytest

from kernelwright.store import evaluations, job_rows, lessons, peaks, searches
from kernelwright.store.database import TABLES

PREFIXES = (
    evaluations.CODE,
    evaluations.CONFIRMATION,
    job_rows.NUMBERS,
    job_rows.REQUEST,
    lessons.IMPORTED,
    peaks.HOST,
    peaks.BANDWIDTH,
    searches.REVISION,
)
"""of the keys in the table `meta`"""
RAW = frozenset(
    "get require get_record require_record items scan table appended count last "
    "put put_record add update append delete create".split()
)
"""methods of `Store` and `Writer` that take any table"""
HANDLES = frozenset({"store", "_store", "writer", "_writer"})
"""what a store and a transaction's writer are called wherever there is one"""


def violations(within: ast.AST) -> Iterator[str]:
    """Lines with a call of a raw method, or with a text that begins as a key does."""
    for node in ast.walk(within):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=method)) if method in RAW:
                if ast.unparse(of).split(".")[-1] in HANDLES or _names_a_table(node):
                    yield f"{node.lineno}: {ast.unparse(node)[:60]}"
            case ast.Constant(value=str(text)) if text.startswith(PREFIXES):
                yield f"{node.lineno}: {text[:60]!r}"
            case _:
                pass


def _names_a_table(call: ast.AST) -> bool:
    """Whether the first argument is the name of a table, whatever the store is called there."""
    match call:
        case ast.Call(args=[ast.Constant(value=str(table)), *_]):
            return table in TABLES
        case _:
            return False


def test_no_module_outside_the_store_reads_or_writes_it_by_table_and_key() -> None:
    found = {
        name: lines
        for name, file in import_graph.modules().items()
        if name.split(".")[0] != "store" and (lines := list(violations(import_graph.tree(file))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "self._store.get(table, key)",
        "bench.store.items(TABLE, handle)",
        "writer.put(META, key, {})",
        'key = f"confirmation/{variant_id}"',
        "REVISION = 'revision/'",
        "state.get('kernels', key)",
    ],
)
def test_what_knows_a_table_or_a_key_is_seen(line: str) -> None:
    assert len(list(violations(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "found.append(store)",
        "with bench.store.transaction() as writer: put_kernel(writer, record)",
        'events.get("kernel_id", key)',
        'told = "confirmation: none"',
    ],
)
def test_what_only_looks_like_it_is_left_alone(line: str) -> None:
    assert list(violations(ast.parse(line))) == []
