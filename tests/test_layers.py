"""Which folder may import which, and who may know which library: the arrows of README, checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "runners": set[str](),
    "skills": set[str](),
    "analysis": {"runners"},
    "search": {"analysis", "runners"},
    "tools": {"analysis", "runners", "search", "skills"},
    "server": {"analysis", "runners", "search", "skills", "tools"},
}
KNOWS_SQL = {Path("search/store.py"), Path("search/store_errors.py")}
NEVER_AT_THE_TOP = {"torch", "triton", "cupy", "anthropic"}


@dataclass(frozen=True)
class Import:
    """One import: how many dots, the dotted name, and whether it happens when the module loads."""

    level: int
    name: str
    at_top: bool

    @property
    def first(self) -> str:
        """The first part of the name."""
        return self.name.split(".")[0]


def modules(*folders: str) -> list[Path]:
    """Every module of the folders and of the packages nested in them, from the root."""
    return [
        file.relative_to(ROOT)
        for folder in folders
        for file in sorted(ROOT.glob(f"{folder}/**/*.py"))
    ]


def imports_of(module: Path) -> Iterator[Import]:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    inside = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        top = node not in inside
        if isinstance(node, ast.Import):
            yield from (Import(0, alias.name, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (Import(node.level, name, top) for name in names)


def our_folders(module: Path) -> set[str]:
    """The folders that a module reaches by relative imports, its own left out."""
    found = set[str]()
    for each in imports_of(module):
        # In search/moves/x.py three dots stand for the root, in search/x.py two.
        climbed = module.parts[: len(module.parts) - each.level]
        if each.level and not climbed:
            found.add(each.first)
    return found - {module.parts[0]}


@pytest.mark.parametrize("module", modules(*MAY_IMPORT), ids=str)
def test_a_module_imports_only_from_the_layers_below_its_own(module: Path) -> None:
    assert our_folders(module) <= MAY_IMPORT[module.parts[0]]


def test_the_arrows_are_followed_out_of_nested_packages_too() -> None:
    assert our_folders(Path("search/moves/base.py")) == {"runners"}
    assert "runners" in our_folders(Path("tools/records.py"))


@pytest.mark.parametrize("module", modules(*MAY_IMPORT), ids=str)
def test_the_package_imports_itself_by_relative_imports_only(module: Path) -> None:
    named = {i.first for i in imports_of(module) if i.level == 0}
    assert not named & {*MAY_IMPORT, "kernelwright"}


@pytest.mark.parametrize("module", modules("tests", "benchmarks"), ids=str)
def test_others_import_our_folders_through_the_package_only(module: Path) -> None:
    assert not {i.first for i in imports_of(module) if i.level == 0} & set(MAY_IMPORT)


@pytest.mark.parametrize("module", modules(*MAY_IMPORT), ids=str)
def test_a_library_is_known_only_where_it_belongs(module: Path) -> None:
    named = {i.first for i in imports_of(module) if i.level == 0}
    if module not in KNOWS_SQL:
        assert not named & {"sqlite3", "sqlitedict"}
    if module.parts[0] != "server":
        assert not named & {"mcp", "rich", "typer"}


@pytest.mark.parametrize("module", modules(*MAY_IMPORT), ids=str)
def test_loading_a_module_loads_no_gpu_or_model_library(module: Path) -> None:
    loaded = {i.first for i in imports_of(module) if i.level == 0 and i.at_top}
    assert not loaded & NEVER_AT_THE_TOP
