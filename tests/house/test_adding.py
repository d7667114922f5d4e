"""README's table of how to add things, done as it says to a copy of the product.

What the suite asks of all tools, rules, moves and policies is then asked of the new ones, too.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from import_graph import ROOT
from new_toolchain import add_a_toolchain
from product_copy import Product, copied

TOOL = '''
"""The verb `greet`: a word for a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runners.model import Record
from .base import Arguments, Tool

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench


class GreetArguments(Arguments):
    """Whom to greet."""

    kernel_id: str


class Greeted(Record):
    """A word."""

    word: str


def greet(bench: Workbench, arguments: GreetArguments) -> Greeted:
    """Greet a kernel by the name that its spec has, and say nothing else of it. Reads alone; takes
    no time worth a number. Use inspect for anything that is true of a kernel."""
    return Greeted(word=bench.evaluator.kernel(arguments.kernel_id).spec.name)


TOOL = Tool(
    name="greet",
    title="Greet",
    run=greet,
    arguments=GreetArguments,
    result=Greeted,
    search_hint="say hello",
    read_only=True,
)
'''
MOVE = '''
"""`tl.exp` as `tl.math.exp`: another spelling of the same."""

from __future__ import annotations

import ast

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.kernels import kernels_of
from .parts.source import is_call


def _write(state: State) -> Proposals:
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found = [(k, n) for k in kernels for n in ast.walk(k.function) if is_call(n, "exp")]
    if not found:
        return NotApplicable("the kernel has no tl.exp")
    edits = [k.source.replace(n.func, "tl.math.exp") for k, n in found]
    text = kernels[0].source.edited(edits)
    return (Candidate(method=MOVE.method, detail="exp of tl.math", source=text, prior=0.01),)


MOVE = Move(
    id="other_exponential",
    method="softmax_math_fusion",
    languages=("triton",),
    why="Takes exp from tl.math. Never pays.",
    write=_write,
)
'''
RULE = """    Rule(
        id="slow_clock",
        needs=(n.CLOCK,),
        judge=lambda v: Hit("low", "the clock is slow") if v[n.CLOCK] < 1e6 else None,
        role="cause",
        action="let the machine cool down",
        because="nobody's",
    ),
"""
PAGE = """
---
name: slow-clock
description: The clock is far below what the GPU can do. Read it when every other figure is well.
---
# Slow clock

## Signal
- `gpc__cycles_elapsed.avg.per_second` below a million.

## Root causes
1. Heat.

## Fixes
Wait.

## Anti-patterns
- Timing on.

## Verify
- `ncu_summary`: the clock is as usual.
"""
POLICY = '''
"""Policy `newest`: a yardstick."""

from __future__ import annotations

from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import Settings
from .selection import EXPAND, Choice, Policy, legal_arms


def newest(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """Ask for something new while that may be had, else follow the arm that came last."""
    edges, may_expand = legal_arms(graph, node, settings)
    return EXPAND if may_expand else edges[-1]


POLICY = Policy(newest)
'''
ASK = """
import json
from profiles import *
from planted import PLANTED, profile
from kernelwright.analysis.rules.findings import findings
from kernelwright.runners.languages import KERNEL_TYPES
from kernelwright.search.moves import MOVES
from kernelwright.search.policies import POLICIES
from kernelwright.search.settings import Settings
from kernelwright.tools import TOOLS

print(json.dumps({
    "tools": [tool.name for tool in TOOLS],
    "moves": [move.id for move in MOVES],
    "policies": list(POLICIES),
    "settings": Settings(policy="newest").policy,
    "schema": Settings.model_json_schema()["properties"]["policy"]["enum"],
    "kernel types": KERNEL_TYPES,
    "fired": [each.rule for each in findings(profile(PLANTED["slow_clock"])).ranked],
}))
"""
NEW = (
    "other_exponential or slow_clock or slow-clock or verse or every_rule or every_language "
    "or which_language "
    "or test_layers or readme or test_schemas or kept_lists"
)
"""of what is asked of each move and rule, that of the new ones; and all of the rest"""
ASKED_OF_ALL = (
    "tests/house/test_layers.py",
    "tests/house/test_docs.py::test_readme_names_every_tool",
    "tests/house/test_languages.py",
    "tests/analysis/rules/test_rules.py",
    "tests/search/moves/triton/test_moves.py",
    "tests/server/test_lists.py",
    "tests/skills/test_skills.py",
    "tests/tools/test_schemas.py",
)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A copy with its tests, to which README's reader has added one of each."""
    made = copied(tmp_path_factory.mktemp("adding"))
    for each in ("tests", "benchmarks", "docs", "examples", ".dev"):
        leave = shutil.ignore_patterns("results")
        shutil.copytree(ROOT / each, made.folder / each, symlinks=True, ignore=leave)
    for each in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / each, made.folder / each)
    add_a_tool(made)
    add_a_move(made)
    add_a_rule(made)
    add_a_policy(made)
    add_a_toolchain(made)
    return made


def add_a_tool(made: Product) -> None:
    made.write("tools/greet.py", TOOL.lstrip())
    made.insert("tools/__init__.py", "    greet,\n", before="    job,\n")
    made.insert("tools/__init__.py", "    greet.TOOL,\n", before="    job.TOOL,\n")
    made.insert("README.md", "`greet` greets. ", before="State lies in `.kernelwright/`")
    done = made.runs(str(made.folder / "tests" / "support" / "write_lists.py"))
    assert done.returncode == 0, done.stderr


def add_a_move(made: Product) -> None:
    made.write("search/moves/triton/other_exponential.py", MOVE.lstrip())
    made.insert(
        "search/moves/triton/__init__.py",
        "    other_exponential,\n",
        before="    persistent_programs,\n",
    )
    made.insert(
        "search/moves/triton/__init__.py",
        "    other_exponential.MOVE,\n",
        before="    loop_stages.MOVE,\n",
    )


def add_a_rule(made: Product) -> None:
    made.write("skills/slow-clock/SKILL.md", PAGE.lstrip())
    made.insert(
        "analysis/rules/throughput.py", RULE, before='    Rule(\n        id="near_peak_compute",'
    )
    row = '    *_rows("slow_clock", ("tune_parameters", HINTS, "less work a second")),\n'
    made.insert("analysis/prior/table.py", row, before='    *_rows(\n        "atomic_contention",')
    planted = '    "slow_clock": Planted({n.CLOCK: 1e3}),\n'
    made.insert("tests/support/planted.py", planted, before='    "near_peak_compute": Planted(')


def add_a_policy(made: Product) -> None:
    made.write("search/policies/newest.py", POLICY.lstrip())
    made.insert("search/settings.py", '"newest", ', before='"random"]')


@pytest.fixture(scope="module")
def answers(product: Product) -> dict[str, Any]:
    support = str(product.folder / "tests" / "support")
    done = product.runs("-c", f"import sys; sys.path.insert(0, {support!r})\n{ASK}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_tool_is_a_file_and_a_line(answers: dict[str, Any]) -> None:
    assert "greet" in answers["tools"]


def test_a_move_is_a_file_and_a_line(answers: dict[str, Any]) -> None:
    assert "other_exponential" in answers["moves"]


def test_a_rule_is_a_row_and_fires_on_its_planted_fault(answers: dict[str, Any]) -> None:
    assert "slow_clock" in answers["fired"]


def test_a_toolchain_is_a_file_and_a_language(answers: dict[str, Any]) -> None:
    assert answers["kernel types"][-1] == "verse"


def test_a_policy_is_a_file_and_its_name(answers: dict[str, Any]) -> None:
    assert answers["policies"][-2:] == ["newest", "random"]
    assert answers["settings"] == "newest" and "newest" in answers["schema"]


def test_what_the_suite_asks_of_all_the_new_ones_do(product: Product) -> None:
    tests = [str(product.folder / test) for test in ASKED_OF_ALL]
    done = product.runs("-m", "pytest", "-q", "-k", NEW, "--rootdir", str(product.folder), *tests)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
