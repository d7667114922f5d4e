"""Every page says what it must, every example compiles and becomes what it claims."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import skill_examples as ex

from kernelwright.analysis.rules.derived import DERIVED
from kernelwright.analysis.rules.table import RULES
from kernelwright.runners.toolchains.compilers.nvrtc import library
from kernelwright.runners.toolchains.triton_jit import TritonJit
from kernelwright.skills.catalogue import (
    Skill,
    UnknownSkill,
    catalogue,
    one_line_catalogue,
    read,
    read_skill,
)
from kernelwright.tools import TOOLS

GLOSSARY = "glossary"
OF_RULES = ("Signal", "Root causes", "Fixes", "Anti-patterns", "Verify")
OF_TECHNIQUES = ("When", "How", "Costs and limits", "Anti-patterns", "Verify")
OF_MODULES = ("When", "How", "Error class", "Measured", "Anti-patterns", "Verify")
OWN_PAGES = {rule.skill: rule for rule in RULES if rule.skill == rule.id.replace("_", "-")}
LONGEST_PAGE = 130
INSTRUMENTS = {"ncu_summary", "region_dag"}
TOOL_NAMES = INSTRUMENTS | {tool.name for tool in TOOLS}
PAGES = pytest.mark.parametrize("skill", catalogue(), ids=lambda skill: skill.id)
cuda = pytest.mark.parametrize("example", ex.examples("cuda"), ids=lambda each: each.name)
triton = pytest.mark.parametrize("example", ex.examples("triton"), ids=lambda each: each.name)
needs_nvrtc = pytest.mark.skipif(library() is None, reason="no NVRTC and cuda.bindings here")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or TritonJit().missing() is not None,
    reason=str(TritonJit().missing()),
)


def sections(text: str) -> dict[str, str]:
    """Text by heading; headings inside examples are none."""
    parts = re.split(r"^## (.+)$", re.sub(r"(?ms)^```.*?^```$", "", text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def metrics_of(needs: tuple[str, ...]) -> set[str]:
    """Names of counters that a rule reads, those beneath its derived values included."""
    return {
        name for need in needs for name in (DERIVED[need].metrics if need in DERIVED else (need,))
    }


@PAGES
def test_a_page_has_its_sections_in_order(skill: Skill) -> None:
    wanted = OF_RULES if skill.id in OWN_PAGES else OF_TECHNIQUES
    wanted = OF_MODULES if skill.of_modules else wanted
    if skill.id != GLOSSARY:
        assert tuple(sections(skill.text())) == wanted


@PAGES
def test_a_page_is_short_enough_to_be_read(skill: Skill) -> None:
    assert len(skill.text().splitlines()) <= LONGEST_PAGE


@PAGES
def test_front_matter_is_plain_yaml(skill: Skill) -> None:
    assert not re.search(r": | #|^[\W_]|:$", skill.description), "would need quotes in YAML"


@PAGES
def test_every_fence_names_a_language_that_is_tested(skill: Skill) -> None:
    assert {example.language for example in ex.examples_of(skill)} <= ex.LANGUAGES
    assert skill.text().count("\n```") == 2 * len(ex.examples_of(skill))


def test_every_rule_has_its_page() -> None:
    assert {rule.skill for rule in RULES} <= {skill.id for skill in catalogue()}


@pytest.mark.parametrize("skill", [s for s in catalogue() if s.id in OWN_PAGES], ids=lambda s: s.id)
def test_the_page_of_a_rule_names_every_counter_that_the_rule_reads(skill: Skill) -> None:
    needed = metrics_of(OWN_PAGES[skill.id].needs)
    assert not [name for name in needed if f"`{name}`" not in skill.text()]


@pytest.mark.parametrize("skill", [s for s in catalogue() if s.id != GLOSSARY], ids=lambda s: s.id)
def test_a_page_verifies_with_our_tools(skill: Skill) -> None:
    named = set(re.findall(r"`(\w+)`", sections(skill.text())["Verify"]))
    assert named & TOOL_NAMES


@PAGES
def test_pages_that_a_page_refers_to_exist(skill: Skill) -> None:
    named = re.findall(r"skill\s+`([a-z0-9-]+)`", skill.text())
    assert not set(named) - {each.id for each in catalogue()}


@needs_nvrtc
@cuda
def test_a_cuda_example_compiles(example: ex.Example) -> None:
    if "#include" in example.text and not ex.headers():
        pytest.skip("no headers of CUDA here")
    ptx = ex.ptx_of_cuda(example)
    assert not [words for words in example.becomes if words not in ptx]


BROKEN = ex.Example(
    "broken",
    1,
    "triton",
    "# compile: x=*fp32\nimport triton\nimport triton.language as tl\n\n\n"
    "@triton.jit\ndef f(x):\n    tl.store(x, tl.no_such_function(x))\n",
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """`ptx` and `error` of all Triton examples and a broken one, by name: of one process, which has
    torch and Triton to import."""
    all_of_them = [*ex.examples("triton"), BROKEN]
    return ex.compile_triton(all_of_them, tmp_path_factory.mktemp("examples"))


@needs_triton
@triton
def test_a_triton_example_compiles(
    example: ex.Example, compiled: dict[str, dict[str, str]]
) -> None:
    found = compiled[example.name]
    assert not found["error"]
    assert not [words for words in example.becomes if words not in found["ptx"]]


@needs_nvrtc
def test_a_cuda_example_with_an_error_is_told() -> None:
    with pytest.raises(AssertionError, match="undefined"):
        ex.ptx_of_cuda(ex.Example("broken", 1, "cuda", "__global__ void f() { g(); }\n"))


@needs_triton
def test_a_triton_example_with_an_error_is_told(compiled: dict[str, dict[str, str]]) -> None:
    assert "no_such_function" in compiled[BROKEN.name]["error"]


def test_the_catalogue_is_one_line_a_skill_in_order() -> None:
    lines = one_line_catalogue().splitlines()
    assert lines == sorted(lines)
    assert [line.split(": ")[0] for line in lines] == [skill.id for skill in catalogue()]


def test_a_page_is_read_by_its_id_and_by_the_id_of_its_rule() -> None:
    assert read("poor-coalescing") == read("poor_coalescing")
    assert read("poor-coalescing").startswith("---\nname: poor-coalescing\n")


def test_an_unknown_id_is_answered_with_close_ones() -> None:
    with pytest.raises(UnknownSkill, match="poor-coalescing") as caught:
        read("coalescing")
    assert "poor-coalescing" in caught.value.close


@pytest.mark.parametrize(
    ("head", "wrong"),
    [
        ("name: other\ndescription: x", "not that of its folder"),
        ("name: page\ndescription: " + "x" * 201, "longer than 200"),
        ("title: page", "does not begin with"),
    ],
)
def test_a_page_of_another_form_is_refused(tmp_path: Path, head: str, wrong: str) -> None:
    path = tmp_path / "page" / "SKILL.md"
    path.parent.mkdir()
    path.write_text(f"---\n{head}\n---\n", encoding="utf-8")
    with pytest.raises(ValueError, match=wrong):
        read_skill(path)
