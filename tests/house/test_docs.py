"""The documents say what is there, and all that is there is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

from kernelwright.runners.described import descriptions
from kernelwright.runners.gates import ENDINGS
from kernelwright.runners.gates.incumbent import ANEW, FRESH, SHAPES, STRESS, VALUES
from kernelwright.runners.gates.repeats import GATE as REPEATS
from kernelwright.runners.gates.winner import (
    is_faster_again,
    is_not_slower_on_held_out_workloads,
    keeps_its_gain,
)
from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.model import Ending
from kernelwright.runners.oracle.values.stress import KINDS
from kernelwright.runners.plans.declared_plan import check_declared
from kernelwright.search.moves import MOVES
from kernelwright.search.settings import Settings
from kernelwright.server.cli import app
from kernelwright.tools import TOOLS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GPU_KERNELS = (ROOT / "docs/gpu-kernels.md").read_text(encoding="utf-8")
WINNERS = [
    gate.__name__ for gate in (is_faster_again, keeps_its_gain, is_not_slower_on_held_out_workloads)
]
DOCUMENTS = sorted(
    each
    for place in ("*.md", "docs/*.md", "examples/*.md", "tests/**/README.md")
    for each in ROOT.glob(place)
)


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_readme_names_every_tool(name: str) -> None:
    assert f"`{name}`" in README


@pytest.mark.parametrize("name", get_command(app).list_commands(None))  # type: ignore[attr-defined,arg-type]
def test_readme_names_every_command(name: str) -> None:
    assert f"kernelwright {name}" in README


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    """As they are typed, in a block or between backticks; the log of changes names old ones too."""
    text = "" if document.name == "CHANGELOG.md" else document.read_text(encoding="utf-8")
    typed = "\n".join(
        a or b for a, b in re.findall(r"```.*?\n(.*?)```|`([^`\n]+)`", text, re.DOTALL)
    )
    ours = set(re.findall(r"^(?:\S*bin/)?kernelwright ([a-z][\w-]*)", typed, re.MULTILINE))
    made = set(re.findall(r"^make ([a-z][\w-]*)", typed, re.MULTILINE))
    targets = re.findall(
        r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert ours <= set(get_command(app).list_commands(None))  # type: ignore[attr-defined,arg-type]
    assert made <= set(targets)


GATES = (ROOT / "docs/gates.md").read_text(encoding="utf-8")
SEARCH = (ROOT / "docs/search.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*ENDINGS, FRESH, ANEW, REPEATS, SHAPES, STRESS, VALUES, *WINNERS])
def test_the_page_on_gates_names_every_gate(name: str) -> None:
    assert f"`{name}`" in GATES


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_page_on_gates_explains_every_kind_of_stress(kind: str) -> None:
    assert f"| `{kind}` |" in GATES or kind == "exchanged"  # of a gate of its own


def test_every_move_says_when_it_pays() -> None:
    assert all(len(move.why) > 20 for move in MOVES)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_page_on_the_search_has_every_setting(name: str) -> None:
    field = Settings.model_fields[name]
    default = "none" if field.default is None else field.default
    meaning = " ".join(descriptions(Settings)[name].split())
    assert f"| `{name}` | {default} | {meaning} |" in SEARCH


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_and_link_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    folders = "runners|analysis|search|tools|skills|server|tests|examples|benchmarks|docs"
    named = re.findall(rf"`((?:{folders})/[\w./-]*[\w/])`", text)
    linked = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    missing = [name for name in named if not (ROOT / name).exists()]
    missing += [link for link in linked if not (document.parent / link).exists()]
    assert not missing


def test_the_spec_in_readme_is_valid() -> None:
    block = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert block is not None
    assert parse_spec(json.loads(block[1])).name == "scale"


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", GPU_KERNELS, re.DOTALL))
def test_every_spec_of_gpu_kernels_is_valid(block: str) -> None:
    spec = parse_spec(json.loads(block))
    check_declared(spec)
    assert spec.kernel.kernel_type != "cpp"


@pytest.mark.parametrize("ending", Ending)
def test_gpu_kernels_explains_every_ending(ending: Ending) -> None:
    rows = [line for line in GPU_KERNELS.splitlines() if line.startswith("| `")]
    assert any(f"`{ending}`" in row.split("|")[1] for row in rows)


def test_the_page_of_results_shows_those_that_lie_in_benchmarks() -> None:
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    result = json.loads(
        (ROOT / "benchmarks/results/host_examples.json").read_text(encoding="utf-8")
    )
    for row in result["examples"]:
        assert f"{row['speedup']:.3g}x ({row['low']:.3g} to {row['high']:.3g})" in page


def test_what_readme_says_to_differ_from_habit_does() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    said = text.partition("What differs from habit, and why:")[2].partition("`kernelwright record")[
        0
    ]
    usual = Settings()
    assert "**Root noise and rollouts are off** (`noise_fraction`, `rollout_steps`)" in said
    assert (usual.noise_fraction, usual.rollout_steps) == (0.0, 0)
    assert "(`patience`, and where the physics floor" in said
    assert usual.patience and usual.stop_at_headroom
    assert "No speedup without an interval" in said and "store in place of JSON files" in said
