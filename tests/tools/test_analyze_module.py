"""`analyze_module` on a CPU: a module with everything that a beginner writes, and its ladder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from small_modules import all_findings

from kernelwright.analysis.modules.report import ModuleReport, report_of
from kernelwright.runners.errors import SpecError
from kernelwright.runners.modules.running import Found
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.analyze_module import AnalyzeModuleArguments, analyze_module, answer
from kernelwright.tools.parts.calls import call
from kernelwright.tools.parts.models.asked import (
    ANALYSIS,
    LADDER,
    Asked,
    run_asked,
    rungs_named,
)

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
BEGINNERS = """
import math
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.over = torch.nn.Linear(64, 192), torch.nn.Linear(64, 64)
        self.image = torch.nn.Conv2d(4, 4, 3, padding=1)
        self.table = torch.linspace(0, 1, 64, dtype=torch.float64)

    def attention(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.softmax(q @ k.transpose(-2, -1) / math.sqrt(64), -1) @ v

    def forward(self, x):
        if x.sum() > 1e9:  # breaks the graph, and waits
            return x
        state, told = torch.zeros_like(x[:, 0]), []
        for step in range(48):  # a loop of tiny operators
            state = torch.tanh(x[:, step] + self.over(state))
            told.append(state)
        x = self.attention(x) + torch.stack(told * 4, 1)
        x = (x * self.table).to(self.qkv.weight.dtype)  # float64 by accident
        turned = x
        for _ in range(6):
            turned = turned.transpose(1, 2).contiguous()
        return x + turned + self.image(turned[:, None].expand(-1, 4, -1, -1))[:, 0]


def get_inputs():
    return [torch.randn(8, 192, 64)]


def get_init_inputs():
    return []
"""
LINES = {number: line for number, line in enumerate(BEGINNERS.splitlines(), 1)}
TOLD = {
    "attention": ("torch-attention", "softmax"),
    "float64": ("torch-precision", "self.table"),
    "graph break": ("torch-compile", "x.sum()"),
    "copies": ("torch-layout", ".contiguous()"),
    "loop": ("torch-loops", "self.over"),
    "synchronisation": ("torch-synchronisation", "x.sum()"),
}
"""kinds by their page and by what stands in the line that they name"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """On one thread, whatever the machine has beside it to do."""
    path = tmp_path_factory.mktemp("beginners") / "model.py"
    path.write_text(BEGINNERS, encoding="utf-8")
    rungs = rungs_named(("eager", "sdpa", "channels_last", "threads"))
    phases = (*ANALYSIS, LADDER)
    return run_asked(Asked(path=path, device="cpu", threads=1, rungs=rungs, phases=phases))


@pytest.fixture(scope="module")
def report(lines: Found) -> ModuleReport:
    return report_of(lines)


@pytest.mark.parametrize(("kind", "page", "within"), [(k, *each) for k, each in TOLD.items()])
def test_what_a_beginner_writes_is_told_with_its_line_and_its_page(
    kind: str, page: str, within: str, lines: Found
) -> None:
    found = [each for each in all_findings(lines) if each.kind == kind]
    assert found and {each.skill for each in found} == {page}
    named = [LINES[int(where.split(":")[1])] for each in found for where in each.where]
    assert [line for line in named if within in line]


def test_batch_sizes_are_swept(report: ModuleReport) -> None:
    assert [point.batch for point in report.batches] == [1, 2, 4, 8, 16, 32]
    assert all(point.ms for point in report.batches)


def test_every_rung_is_measured_and_compared_with_float64(report: ModuleReport) -> None:
    assert [row.name for row in report.ladder] == ["eager", "sdpa", "channels_last", "threads"]
    assert all(row.verdict == "agrees" and row.measured_ms for row in report.ladder)
    assert report.truth == "float64"


def test_an_agent_is_told_the_whole_ladder_and_where_to_read_on(
    report: ModuleReport, tmp_path: Path
) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        told = answer(bench, AnalyzeModuleArguments(path="m.py"), Asked(path=Path("m.py")), report)
        written = ModuleReport.model_validate_json(Path(told.report).read_text(encoding="utf-8"))
    assert written == report
    assert told.next[0] == call("inspect", what="skill", id=report.opportunities[0].skill)
    ladder = told.text[told.text.index(next(t for t in told.text if t.startswith("ladder"))) :]
    assert [line.split()[0] for line in ladder[2:6]] == [row.name for row in report.ladder]
    assert [each.skill for each in told.opportunities] == [
        each.skill for each in report.opportunities[: len(told.opportunities)]
    ]


def test_a_rung_that_is_none_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with (
        Workbench(tmp_path / "out", [tmp_path]) as bench,
        pytest.raises(SpecError, match="no step"),
    ):
        (tmp_path / "model.py").write_text(BEGINNERS, encoding="utf-8")
        analyze_module(bench, AnalyzeModuleArguments(path="model.py", rungs=("faster",)))
