"""What sets languages apart stands in one table: no other module asks which language it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import import_graph
import pytest

from kernelwright.analysis.prior.signals import TOLD_BY_LANGUAGE
from kernelwright.runners.languages import KERNEL_TYPES, LANGUAGES
from kernelwright.runners.toolchains import named_toolchain
from kernelwright.search.applying.flags import CHECKS
from kernelwright.search.moves import METHODS, MOVES
from kernelwright.tools.open_kernel import ENTRIES

ROOT = Path(__file__).parents[2]
DEFINED = Path("runners/languages.py")
OF_TORCH = tuple(
    map(Path, ("deploy", "runners/capture", "runners/modules", "tools/programs/operators"))
)
"""There `cuda` is one of torch's devices."""
EQUALITY = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
MODULES = sorted(file.relative_to(ROOT) for file in import_graph.modules().values())


def asked(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """Tests that single out a language: a kernel type beside a constant, a constant that is one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            texts = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
            named = any(_named(side) == "kernel_type" for side in (node.left, *node.comparators))
            equality = all(isinstance(op, EQUALITY) for op in node.ops)
            if equality and (texts & known or (named and texts)):
                yield ast.unparse(node)
        elif isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant):
            if node.value.value in known:
                yield ast.unparse(node)


def _named(node: ast.expr) -> str | None:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return getattr(node, "attr", getattr(node, "id", None))


def test_no_module_asks_which_language_a_kernel_is_in() -> None:
    texts = {module: (ROOT / module).read_text(encoding="utf-8") for module in MODULES}
    words = (*KERNEL_TYPES, "kernel_type")
    found = {
        str(module): lines
        for module, text in texts.items()
        if module != DEFINED and not any(module.is_relative_to(room) for room in OF_TORCH)
        if any(word in text for word in words)  # others need no reading
        and (lines := list(asked(import_graph.tree(ROOT / module), set(KERNEL_TYPES))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "kernel.kernel_type == 'cpp'",
        "'triton' != kind",
        "kind in ('cuda', 'cpp')",
        "spec['kernel_type'] == 'new'",
        "match kind:\n    case 'cuda':\n        pass",
    ],
)
def test_every_way_to_ask_is_found(text: str) -> None:
    assert list(asked(ast.parse(text), set(KERNEL_TYPES)))


@pytest.mark.parametrize("text", ["kind in move.languages", "each.tier == 'device'"])
def test_asking_for_what_a_language_declares_is_no_such_test(text: str) -> None:
    assert list(asked(ast.parse(text), set(KERNEL_TYPES))) == []


@pytest.mark.parametrize("kernel_type", KERNEL_TYPES)
def test_every_language_names_a_toolchain(kernel_type: str) -> None:
    assert named_toolchain(kernel_type).name


def test_a_suffix_belongs_to_one_language() -> None:
    suffixes = [suffix for each in LANGUAGES.values() for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_what_moves_methods_and_tables_name_are_languages() -> None:
    named = {name for each in (*MOVES, *METHODS) for name in each.languages}
    assert named | {*CHECKS, *ENTRIES, *TOLD_BY_LANGUAGE} <= set(LANGUAGES)
