"""Which folder may import which, and who may know which library: the arrows of README, checked."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "runners": set[str](),
    "skills": set[str](),
    "analysis": {"runners"},
    "search": {"analysis", "runners"},
    "tools": {"analysis", "runners", "search", "skills"},
    "server": {"analysis", "runners", "search", "skills", "tools"},
}
KNOWS_SQL = {
    Path("store/store.py"),
    Path("store/database.py"),
    Path("store/errors.py"),
}
NEVER_AT_THE_TOP = {"torch", "triton", "cupy", "cuda", "pynvml", "anthropic"}
NOT_BESIDE_THE_CLOCK = ("toolchains", "capture", "interpreter", "oracle")
"""Beginnings of the names in `runners` that the process which times GPU code does without: what
builds, what runs a candidate's Python, and what knows expected values."""
LOADS = {"import_module", "load"}
"""functions that import the module that they are given by name"""


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


@cache
def imports_of(module: Path) -> tuple[Import, ...]:
    return tuple(_imports(module))


def _imports(module: Path) -> Iterator[Import]:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    inside = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        top = node not in inside
        if isinstance(node, ast.Call) and node.args:
            name, given = ast.unparse(node.func).split(".")[-1], node.args[0]
            if name in LOADS and isinstance(given, ast.Constant):
                yield Import(0, str(given.value), top)
        elif isinstance(node, ast.Import):
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
    assert our_folders(Path("search/moves/methods.py")) == {"analysis", "runners"}
    assert "runners" in our_folders(Path("store/records.py"))


@pytest.mark.parametrize("module", modules(*MAY_IMPORT), ids=str)
def test_the_package_imports_itself_by_relative_imports_only(module: Path) -> None:
    named = {i.first for i in imports_of(module) if i.level == 0}
    assert not named & {*MAY_IMPORT, "kernelwright"}


@pytest.mark.parametrize("module", modules("tests", "benchmarks"), ids=str)
def test_others_import_our_folders_through_the_package_only(module: Path) -> None:
    assert not {i.first for i in imports_of(module) if i.level == 0} & set(MAY_IMPORT)


def runners_reached(module: Path) -> set[str]:
    """The names in `runners` that a module of a package nested there imports from."""
    return {each.first for each in imports_of(module) if each.level == 2}


@pytest.mark.parametrize("module", modules("runners/device"), ids=str)
def test_what_times_gpu_code_imports_nothing_that_builds_or_judges(module: Path) -> None:
    reached = runners_reached(module)
    assert not [name for name in reached if name.startswith(NOT_BESIDE_THE_CLOCK)]


def test_the_process_that_times_gpu_code_loads_nothing_that_builds_or_judges() -> None:
    loaded = loaded_with("kernelwright.runners.device.process")
    ours = {n.removeprefix("kernelwright.runners.") for n in loaded if n.startswith("kernelwright")}
    assert "device.driver" in ours
    assert not [name for name in ours if name.startswith(NOT_BESIDE_THE_CLOCK)]
    assert not {name.split(".")[0] for name in loaded} & NEVER_AT_THE_TOP


@pytest.mark.parametrize("module", modules("runners/capture"), ids=str)
def test_a_capture_knows_nothing_of_the_device_runner(module: Path) -> None:
    assert "device" not in runners_reached(module)


def loaded_with(module: str) -> set[str]:
    """Every module that a new process has once it has imported one."""
    script = f"import {module}, json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout))


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
