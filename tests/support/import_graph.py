"""The imports between the modules of the product, read from their sources: nothing is imported.

`python tests/support/import_graph.py [ROOT]` prints the graph in short: modules, cycles, arrows
between folders, the largest packages.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "analysis",
    "api",
    "deploy",
    "evaluation",
    "runners",
    "search",
    "server",
    "skills",
    "store",
    "tools",
)


@dataclass(frozen=True)
class Arrow:
    """One module imports another. Names are those below `kernelwright`: `runners.model`."""

    source: str
    target: str


@cache
def modules(root: Path = ROOT) -> Mapping[str, Path]:
    """Every module by its name, a package by that of its folder."""
    found = dict[str, Path]()
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def arrows(root: Path = ROOT) -> frozenset[Arrow]:
    """All imports, those within functions and those for type checkers alone among them."""
    known = modules(root)
    found = (
        Arrow(name, target)
        for name, file in known.items()
        for target in _imported(name, file, known)
        if target != name
    )
    return frozenset(found)


@cache
def tree(file: Path) -> ast.Module:
    """What a file says, parsed once for all who ask in a process.

    Trees are set aside from what Python looks through for garbage, which took thrice the parsing.
    """
    parsed = ast.parse(file.read_text(encoding="utf-8"))
    gc.freeze()
    return parsed


def package_of(module: str, root: Path = ROOT) -> str:
    """The innermost package that a module lies in; a package lies in itself."""
    return module if _is_package(modules(root)[module]) else module.rpartition(".")[0]


def projected(
    found: Iterable[Arrow], place: Callable[[str], str] = lambda module: module
) -> dict[str, set[str]]:
    """Who reaches whom, with every module at its place; what stays within a place is left out."""
    graph = dict[str, set[str]]()
    for arrow in found:
        source, target = place(arrow.source), place(arrow.target)
        if source != target:
            graph.setdefault(source, set()).add(target)
    return graph


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one place (Tarjan)."""
    order, low = dict[str, int](), dict[str, int]()
    stack, found = list[str](), list[list[str]]()

    def visit(place: str) -> None:
        order[place] = low[place] = len(order)
        stack.append(place)
        for other in sorted(graph.get(place, ())):
            if other not in order:
                visit(other)
                low[place] = min(low[place], low[other])
            elif other in stack:
                low[place] = min(low[place], order[other])
        if low[place] == order[place]:
            component = stack[stack.index(place) :]
            del stack[stack.index(place) :]
            if len(component) > 1:
                found.append(sorted(component))

    for place in sorted(graph):
        if place not in order:
            visit(place)
    return found


def _imported(name: str, file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    parts = name.split(".")
    package = parts if _is_package(file) else parts[:-1]
    for node, _ in statements(tree(file)):
        if not (isinstance(node, ast.ImportFrom) and node.level):
            continue
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        target = ".".join(filter(None, base))
        for alias in node.names:
            inner = f"{target}.{alias.name}".lstrip(".")
            if inner in known or target in known:
                yield inner if inner in known else target


def statements(within: ast.AST, *, at_top: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Every statement, and whether it runs when its module loads. Expressions, most of a tree, are
    not looked into."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(within, field, ()):
            if isinstance(each, ast.stmt):
                yield each, at_top
            inner = at_top and not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from statements(each, at_top=inner)


def _is_package(file: Path) -> bool:
    return file.name == "__init__.py"


def _print(root: Path) -> None:
    every, known = arrows(root), modules(root)
    print(f"{len(known)} modules, {len(every)} arrows")

    def packages(module: str) -> str:
        return package_of(module, root)

    for what, place in (("modules", str), ("packages", packages)):
        found = cycles(projected(every, place))
        print(f"cycles of {what}: {len(found)} {[len(each) for each in found] or ''}".rstrip())
    for folder, below in sorted(projected(every, lambda m: m.split(".")[0]).items()):
        print(f"{folder} imports {', '.join(sorted(below))}")
    sizes = dict[str, int]()
    for module in known:
        sizes[packages(module)] = sizes.get(packages(module), 0) + 1
    largest = sorted(sizes.items(), key=lambda each: (-each[1], each[0]))[:5]
    print("files in the largest packages: " + ", ".join(f"{n} {count}" for n, count in largest))


if __name__ == "__main__":
    _print(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
