"""The verb `analyze_module`: where a PyTorch module's time goes, and what would pay."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..runners.model import Record
from ..runners.modules.common.messages import ErrorClass, Precision
from .base import Tool, WorkArguments
from .parts.calls import again, call
from .parts.models.asked import ANALYSIS, LADDER, Asked, report_on, rungs_named

if TYPE_CHECKING:
    from ..analysis.modules.report import ModuleReport
    from ..search.session.workbench import Workbench

MOST_LINES, MOST_TOLD, MOST_PAGES = 90, 10, 3


class AnalyzeModuleArguments(WorkArguments):
    """Which module, and what is to be found out."""

    path: str
    """a Python file with a torch.nn.Module, or a Hugging Face config.json"""
    class_name: str = ""
    """where the file has several"""
    init: dict[str, Any] = Field(default_factory=dict)
    """keyword arguments of the class"""
    inputs: tuple[str, ...] = ()
    """float32[4,512], int64[4,128]<32000; not where the file has get_inputs"""
    ladder: bool = False
    """measure rungs too (compile, graphs, ...): minutes"""
    rungs: tuple[str, ...] = ()
    """these alone: steps joined by +"""
    allow: tuple[Precision, ...] = ()
    """precisions that the user consents to"""
    device: str = "auto"


class ToldOpportunity(Record):
    """Something that could be done."""

    kind: str
    what: str
    how: str
    skill: str
    """a page that says more: inspect what skill"""
    speedup: float | None = None
    """predicted, of the whole call"""
    error_class: ErrorClass
    rung: str = ""
    where: tuple[str, ...] = ()


class ModuleAnalysis(Record):
    """What a module does and could gain."""

    text: tuple[str, ...]
    """tables for a reader"""
    opportunities: tuple[ToldOpportunity, ...]
    best: str | None = None
    """the fastest rung whose outputs agree"""
    report: str
    """a JSON file with all of it"""
    advice: str
    next: tuple[str, ...] = ()


def analyze_module(bench: Workbench, arguments: AnalyzeModuleArguments) -> ModuleAnalysis:
    """Say where a PyTorch module's time and memory go, by operator and module, and what would pay.

    Opportunities come ranked, with predicted gain and error class. With ladder, rungs are measured
    in turns and their outputs compared with float64. The module runs in a process of its own. Takes
    10 to 60 s, a ladder minutes. Example: {"path": "model.py", "ladder": true}
    """
    asked = Asked(
        path=bench.roots.file(arguments.path, bench.roots.folders[0]),
        name=arguments.class_name,
        init=arguments.init,
        inputs=arguments.inputs,
        device=arguments.device,
        allow=arguments.allow,
        rungs=rungs_named(arguments.rungs),
        phases=(*ANALYSIS, LADDER) if arguments.ladder or arguments.rungs else ANALYSIS,
    )
    return answer(bench, arguments, asked, report_on(asked))


def answer(
    bench: Workbench, arguments: AnalyzeModuleArguments, asked: Asked, report: ModuleReport
) -> ModuleAnalysis:
    """What the client is told of a report, all of which is written to a file."""
    from ..analysis.modules.told import told

    return ModuleAnalysis(
        text=tuple(told(report, opportunities=False).splitlines()[:MOST_LINES]),
        opportunities=_opportunities(report),
        best=report.best,
        report=str(_written(bench, asked, report)),
        advice=_advice(report),
        next=(*_ladder(arguments, report), *_pages(report)),
    )


def _ladder(arguments: AnalyzeModuleArguments, report: ModuleReport) -> tuple[str, ...]:
    return () if report.ladder else (again("analyze_module", arguments, ladder=True),)


def _pages(report: ModuleReport) -> tuple[str, ...]:
    """What to read of those opportunities that gain most."""
    skills = dict.fromkeys(each.skill for each in report.opportunities)
    return tuple(call("inspect", what="skill", id=skill) for skill in list(skills)[:MOST_PAGES])


def _opportunities(report: ModuleReport) -> tuple[ToldOpportunity, ...]:
    return tuple(
        ToldOpportunity(
            kind=each.kind,
            what=each.what,
            how=each.how,
            skill=each.skill,
            speedup=each.speedup,
            error_class=each.error_class,
            rung="+".join(each.steps),
            where=each.where,
        )
        for each in report.opportunities[:MOST_TOLD]
    )


def _written(bench: Workbench, asked: Asked, report: ModuleReport) -> Path:
    from ..runners.whole_files import write_whole

    content = report.model_dump_json(indent=1)
    name = f"{asked.path.stem}-{hashlib.sha256(content.encode()).hexdigest()[:8]}.json"
    folder = bench.outdir / "models"
    folder.mkdir(exist_ok=True)
    return write_whole(folder / name, content + "\n")


def _advice(report: ModuleReport) -> str:
    if report.best is not None:
        return f"optimize_model writes the module with {report.best}; then look at what remains"
    if report.ladder:
        return "no rung is faster for sure: what remains is work on kernels or on the module's code"
    return "the ladder measures what is predicted here"


TOOL = Tool(
    name="analyze_module",
    title="See what a PyTorch module could gain",
    run=analyze_module,
    arguments=AnalyzeModuleArguments,
    result=ModuleAnalysis,
    search_hint="PyTorch model nn.Module slow: profile, torch.compile, CUDA graphs, attention, "
    "memory by module",
    read_only=False,
    work=True,
)
