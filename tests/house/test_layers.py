"""Which folder may import which, and who may know which library: the arrows of README, checked."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import import_graph
import pytest
from import_graph import Arrow, arrows, cycles, package_of, projected, statements, tree

from kernelwright.tools import TOOLS

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "deploy": set[str](),
    "runners": {"deploy"},
    "skills": set[str](),
    "analysis": {"deploy", "runners"},
    "store": {"runners"},
    "evaluation": {"analysis", "runners", "store"},
    "search": {"analysis", "evaluation", "runners", "store"},
    "tools": {"analysis", "deploy", "evaluation", "runners", "search", "skills", "store"},
    "server": {"analysis", "evaluation", "runners", "search", "skills", "store", "tools"},
    "api": {"analysis", "evaluation", "runners", "search", "server", "skills", "store", "tools"},
}
KNOWS_SQL = {Path("store/store.py"), Path("store/database.py"), Path("store/errors.py")}
NEVER_AT_THE_TOP = {"torch", "triton", "cupy", "cuda", "pynvml", "anthropic"}
NOT_BESIDE_THE_CLOCK = ("toolchains", "building", "capture", "interpreter", "oracle")
"""Rooms of `runners` that the process which times GPU code does without: what builds, what runs a
candidate's Python, and what knows expected values."""
MOST_FILES = 20
LISTED = ("search.moves", "tools")
"""Rooms of like things, a file each, that their `__init__` lists: a new one needs no room made."""
TOUCH_THE_WORLD = ("search.stored", "search.outdir", "search.session", "search.session.inputs")
"""Rooms of `search` that know store and evaluation; all else there is given what it needs."""
RENAMING = {
    "runners/whole_files.py": "the helper itself",
    "runners/limits/limits.py": "a program that a compiler wrote",
    "runners/toolchains/host_cpp.py": "a module that a compiler wrote, by its hash",
    "runners/building/compile_cache.py": "whole folders",
    "runners/profiling/running.py": "a report that ncu wrote",
    "deploy/watching.py": "rows of a program's process, which has nothing else of ours",
    "server/broker/remote_desk.py": "a log that makes room",
    "server/observing/audit.py": "logs that make room",
    "tools/parts/written_file.py": "a user's file, from its backup",
    "tools/programs/operators/patching.py": "a user's file, from its backup",
}
"""Who puts a file in place by its name, and what else than a text of ours it is."""
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
    text = (ROOT / module).read_text(encoding="utf-8")
    may_load = any(f"{name}(" in text for name in LOADS)
    for node, top in statements(tree(ROOT / module)):
        if isinstance(node, ast.Import):
            yield from (Import(0, alias.name, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (Import(node.level, name, top) for name in names)
        elif may_load:
            yield from (Import(0, name, top) for name in _loaded(node))


def _loaded(statement: ast.stmt) -> Iterator[str]:
    """What a statement imports by name, in calls; those of statements within it are their own."""
    expressions = [e for e in ast.iter_child_nodes(statement) if isinstance(e, ast.expr)]
    for call in (node for each in expressions for node in ast.walk(each)):
        if isinstance(call, ast.Call) and call.args and _name_of(call) in LOADS:
            given = call.args[0]
            if isinstance(given, ast.Constant):
                yield str(given.value)


def _name_of(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def folder_of(module: str) -> str:
    return module.split(".")[0]


def reached_from(*rooms: str) -> set[Arrow]:
    """The arrows that leave these packages and all that is nested in them."""
    within = tuple(f"{room}." for room in rooms)
    return {a for a in arrows() if f"{a.source}.".startswith(within)}


def test_a_folder_imports_only_from_the_layers_below_its_own() -> None:
    graph = projected(arrows(), folder_of)
    assert {folder: graph.get(folder, set()) - MAY_IMPORT[folder] for folder in MAY_IMPORT} == {
        folder: set[str]() for folder in MAY_IMPORT
    }


def test_every_kind_of_import_is_an_arrow() -> None:
    assert Arrow("search.moves.methods", "analysis.prior.model") in arrows()
    assert Arrow("tools.base", "search.session.workbench") in arrows()  # for type checkers alone
    assert Arrow("server.cli", "server.doctor") in arrows()  # within a function


def test_no_module_reaches_itself() -> None:
    assert cycles(projected(arrows())) == []


def test_no_package_reaches_itself() -> None:
    assert cycles(projected(arrows(), package_of)) == []


def test_cycles_are_found() -> None:
    around = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set[str]()}
    assert cycles(around) == [["a", "b", "c"]]


def test_a_package_is_small_enough_to_be_looked_over() -> None:
    sizes = Counter(package_of(module) for module in import_graph.modules())
    for package, size in sizes.items():
        assert size <= MOST_FILES or is_listed(package), (
            f"{package} has {size} modules, at most {MOST_FILES}: move what belongs together into "
            "a package of its own, and name that in pyproject.toml"
        )


def is_listed(package: str) -> bool:
    """Whether a package is a list of like things (`parts/` are what they are made of)."""
    return package.startswith(LISTED) and "parts" not in package.split(".")


def test_what_lies_directly_in_runners_imports_nothing_of_ours_but_each_other() -> None:
    loose = {a for a in arrows() if package_of(a.source) == "runners"}
    assert not {a for a in loose if package_of(a.target) != "runners"}


def test_the_rig_knows_no_store() -> None:
    assert not {a for a in reached_from("evaluation.rig") if folder_of(a.target) == "store"}


def test_only_evidence_of_an_evaluation_knows_analysis() -> None:
    found = {a for a in reached_from("evaluation") if folder_of(a.target) == "analysis"}
    assert {package_of(a.source) for a in found} == {"evaluation.evidence"}


def test_the_search_is_pure_but_for_three_rooms() -> None:
    found = {a for a in reached_from("search") if folder_of(a.target) in ("store", "evaluation")}
    assert {package_of(a.source) for a in found} == set(TOUCH_THE_WORLD)
    pure = {a for a in reached_from("search") if package_of(a.source) not in TOUCH_THE_WORLD}
    assert not {a for a in pure if package_of(a.target) in TOUCH_THE_WORLD}


def test_what_lies_directly_in_tools_is_a_verb() -> None:
    here = {m for m in import_graph.modules() if package_of(m) == "tools"} - {"tools", "tools.base"}
    assert here == {f"tools.{tool.name}" for tool in TOOLS}


def test_what_verbs_are_made_of_knows_no_verb() -> None:
    found = {a for a in reached_from("tools.brief", "tools.parts", "tools.programs", "tools.views")}
    assert not {a for a in found if package_of(a.target) == "tools"}


def naming(names: Collection[str], among: Iterable[Path]) -> set[tuple[str, str]]:
    """Who imports a library of these names, and which."""
    return {
        (str(module), i.first)
        for module in among
        for i in imports_of(module)
        if i.level == 0 and i.first in names
    }


def test_the_package_imports_itself_by_relative_imports_only() -> None:
    assert not naming({*MAY_IMPORT, "kernelwright"}, modules(*MAY_IMPORT))


def test_others_import_our_folders_through_the_package_only() -> None:
    assert not naming(MAY_IMPORT, modules("tests", "benchmarks"))


def test_what_times_gpu_code_imports_nothing_that_builds_or_judges() -> None:
    reached = reached_from("runners.device")
    assert reached
    assert not {a for a in reached if a.target.split(".")[1] in NOT_BESIDE_THE_CLOCK}


def test_the_process_that_times_gpu_code_loads_nothing_that_builds_or_judges() -> None:
    loaded = loaded_with("kernelwright.runners.device.process")
    ours = {n.removeprefix("kernelwright.runners.") for n in loaded if n.startswith("kernelwright")}
    assert "device.cuda_driver.driver" in ours
    assert not {name.split(".")[0] for name in ours} & set(NOT_BESIDE_THE_CLOCK)
    assert not {name.split(".")[0] for name in loaded} & NEVER_AT_THE_TOP


def test_a_capture_knows_nothing_of_the_device_runner() -> None:
    reached = reached_from("runners.capture")
    assert reached
    assert not {a for a in reached if a.target.split(".")[1] == "device"}


def loaded_with(module: str) -> set[str]:
    """Every module that a new process has once it has imported one."""
    script = f"import {module}, json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout))


def test_a_library_is_known_only_where_it_belongs() -> None:
    ours = modules(*MAY_IMPORT)
    assert not naming({"sqlite3", "sqlitedict"}, set(ours) - KNOWS_SQL)
    assert not naming({"mcp", "rich", "typer"}, [m for m in ours if m.parts[0] != "server"])


def test_loading_a_module_loads_no_gpu_or_model_library() -> None:
    assert not {
        (str(module), i.first)
        for module in modules(*MAY_IMPORT)
        for i in imports_of(module)
        if i.level == 0 and i.at_top and i.first in NEVER_AT_THE_TOP
    }


def renames(within: ast.AST) -> bool:
    """Whether a module puts files in place: `rename`, or `replace` of a path (a text takes two)."""
    calls = [node for node in ast.walk(within) if isinstance(node, ast.Call)]
    named = [(c.func, len(c.args)) for c in calls if isinstance(c.func, ast.Attribute)]
    return any(
        f.attr == "rename" or (f.attr == "replace" and (n == 1 or _is_os(f.value)))
        for f, n in named
    )


def _is_os(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "os"


@pytest.mark.parametrize("text", ["os.replace(a, b)", "path.replace(to)", "path.rename(to)"])
def test_every_way_to_put_a_file_in_place_is_seen(text: str) -> None:
    assert renames(ast.parse(text))
    assert not renames(ast.parse("name.replace('a', 'b'); replace(state, source=text)"))


def test_one_helper_writes_files_that_others_read() -> None:
    read = {m: (ROOT / m).read_text(encoding="utf-8") for m in modules(*MAY_IMPORT)}
    may = [m for m, text in read.items() if "rename" in text or "replace" in text]
    found = {str(m) for m in may if renames(tree(ROOT / m))}
    assert found <= RENAMING.keys(), "write it by runners/whole_files.py"
