"""What `analyze` tells of a module fits the page that it names: it is told of the form that a page
begins with, and no longer of the form that it ends with."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path

import pytest
from small_modules import all_findings, run_file

from kernelwright.analysis.modules.report import report_of
from kernelwright.analysis.modules.told import told
from kernelwright.runners.modules.running import Found
from kernelwright.skills.catalogue import catalogue, read

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
SHOWN = {
    "torch-kv-cache": "recomputed",
    "torch-embeddings": "one-hot",
    "torch-message-passing": "gathered product",
    "torch-moe-routing": "routing",
    "torch-precision": "float64",
}
"""pages by a kind of finding that their first forms show and their last ones do not"""
MODEL = """
class Model(torch.nn.Module):
    def __init__(self, side):
        super().__init__()
        self.forms = [made() for made in EXAMPLES]
        self.given, self.side = [each["inputs"]("cpu") for each in self.forms], side

    def forward(self, x):
        pairs = zip(self.forms, self.given)
        return [forms[self.side](*given) for forms, given in pairs]
"""
GROWN = """
import torch

def inputs(device):
    return (torch.randn(64, 8192),)

def before(x):
    rows = x[:1]
    for n in range(1, len(x)):
        rows = torch.cat((rows, x[n:n + 1] + rows[-1:]))
    return rows

def after(x):
    return x.cumsum(0)
"""
PHASES = ("eager", "trace", "roofs")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """What is told of all these pages' examples in one module, `before` and `after`."""
    import torch_skills

    texts = [
        forms.text
        for skill in catalogue()
        if skill.id in SHOWN
        for forms in torch_skills.forms_of(skill)
        if "cpu" in forms.on
    ]
    path = tmp_path_factory.mktemp("pages") / "model.py"
    path.write_text(_module([*texts, GROWN]), encoding="utf-8")
    return {side: _told_of(path, side) for side in ("before", "after")}


def _module(examples: list[str]) -> str:
    """One file, in which lines of all examples are the user's."""
    text = "import torch\n"
    for number, example in enumerate(examples):
        body = textwrap.indent(example, "    ")
        text += f"def example_{number}():\n{body}\n    return locals()\n"
    names = ", ".join(f"example_{number}" for number in range(len(examples)))
    return f"{text}EXAMPLES = ({names},)\n{MODEL}"


def _told_of(path: Path, side: str) -> Found:
    source = {"init": {"side": side}, "inputs": ("float32[1]",)}
    scratch = str(path.with_name(side))
    return run_file(path, *PHASES, source=source, scratch=scratch)


@pytest.mark.parametrize(("page", "kind"), SHOWN.items())
def test_the_form_a_page_begins_with_shows_what_leads_to_the_page(
    page: str, kind: str, sides: dict[str, Found]
) -> None:
    (found,) = [each for each in all_findings(sides["before"]) if each.kind == kind]
    assert found.skill == page
    assert found.where[0].startswith("model.py:")


@pytest.mark.parametrize("kind", SHOWN.values())
def test_the_form_a_page_ends_with_does_not(kind: str, sides: dict[str, Found]) -> None:
    assert kind not in {each.kind for each in all_findings(sides["after"])}


def test_rows_that_are_summed_at_once_are_a_bag(
    sides: dict[str, Found],
) -> None:
    assert "bag" in {each.kind for each in all_findings(sides["before"])}
    assert "bag" not in {each.kind for each in all_findings(sides["after"])}


def test_every_opportunity_names_a_page_that_can_be_read(
    sides: dict[str, Found],
) -> None:
    for each in (*all_findings(sides["before"]), *all_findings(sides["after"])):
        assert read(each.skill)


def test_a_tensor_that_is_copied_for_each_row_more_is_told(sides: dict[str, Found]) -> None:
    (found,) = [e for e in all_findings(sides["before"]) if e.kind == "grown by copies"]
    assert "63 times" in found.what
    assert "grown by copies" not in {each.kind for each in all_findings(sides["after"])}


def test_the_text_names_the_page_of_each_opportunity(sides: dict[str, Found]) -> None:
    report = report_of(sides["before"])
    assert f"skill {report.opportunities[0].skill})" in told(report)
