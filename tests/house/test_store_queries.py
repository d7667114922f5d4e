"""Tables and keys of the store are named beside the store, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import import_graph
import pytest

from kernelwright.store.database import TABLES

METHODS = frozenset(
    "get require get_record require_record items scan table appended count last "
    "put put_record add update append delete".split()
)
"""of `Store` and `Writer`: their first argument is a table"""


def tables_named(source: str) -> Iterator[str]:
    """The lines on which a method of the store is called with the name of a table."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        table = node.args[0]
        if node.func.attr in METHODS and isinstance(table, ast.Constant) and table.value in TABLES:
            yield f"{node.lineno}: {ast.unparse(node)[:60]}"


def test_no_module_outside_the_store_names_a_table() -> None:
    found = {
        name: lines
        for name, file in import_graph.modules().items()
        if not name.startswith("store")
        and (lines := list(tables_named(file.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('store.get("kernels", key)', True),
        ('writer.put_record("meta", f"confirmation/{key}", found)', True),
        ('row.get("kernel_id")', False),
        ("store.items(TABLE)", False),
    ],
)
def test_a_call_with_a_table_is_seen(line: str, named: bool) -> None:
    assert bool(list(tables_named(line))) is named


def test_the_queries_lie_in_the_store() -> None:
    text = Path(str(import_graph.modules()["store.kernels"])).read_text(encoding="utf-8")
    assert 'TABLE = "kernels"' in text
