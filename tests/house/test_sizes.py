"""A file holds one idea, and a function one step: how long they may be, and which may be longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import import_graph

ROOT = Path(__file__).parents[2]
MODULES = tuple(file.relative_to(ROOT) for file in import_graph.modules().values())
MOST_LINES, MOST_OF_A_FUNCTION = 350, 60
"""what `about 300` and `about 40` of CONTRIBUTING leave; a function's docstring does not count"""
LONGEST = 450
LONGER = {
    "analysis/lift/exchanging.py": "reads exchanges of threads; those in loops may come out",
    "analysis/lift/reading.py": "executes PTX on expressions",
    "runners/model.py": "the records that everything speaks in",
    "runners/native/executor.py": "a C++ program as a text",
    "runners/native/process.py": "checks and timed blocks of one process that loads little",
    "search/moves/cuda/schedules/parts/plain.py": "one writer of sources",
}
"""Files that may have up to `LONGEST` lines, and why."""
LONG_FUNCTIONS = {
    "server/kernelbench.py kernelbench": "the declaration of a command's options",
    "server/optimizing.py optimize": "the declaration of a command's options",
}


def functions(module: Path) -> Iterator[tuple[str, int]]:
    """The functions of a module by name, with their lines."""
    for node, _ in import_graph.statements(import_graph.tree(ROOT / module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) else 0)


def _lines(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def test_a_file_is_short_enough_to_hold_one_idea() -> None:
    long = {
        str(module): lines
        for module in MODULES
        if (lines := len((ROOT / module).read_text(encoding="utf-8").splitlines()))
        > (LONGEST if str(module) in LONGER else MOST_LINES)
    }
    assert not long, "move what is another idea into a file of its own, or say in LONGER why not"


def test_a_function_is_short_enough_to_be_one_step() -> None:
    long = {
        f"{module} {name}"
        for module in MODULES
        for name, lines in functions(module)
        if lines > MOST_OF_A_FUNCTION
    }
    assert long <= LONG_FUNCTIONS.keys(), "split it, or say in LONG_FUNCTIONS why it is one step"
