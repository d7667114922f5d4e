"""What both commands on PyTorch modules do: a question from words, and its report, told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...options.gpus import gpu_names
from .options import keyword_arguments
from .progress import telling

if TYPE_CHECKING:
    from ....analysis.modules.report import ModuleReport


def report_told(
    model: Path,
    *,
    class_name: str,
    init: str,
    inputs: Sequence[str] | None,
    rungs: Sequence[str] | None,
    allow: str,
    device: str,
    threads: int | None,
    budget_s: float,
    gpus: str,
    phases: Sequence[str],
    batches: Sequence[int] | None = None,
) -> ModuleReport:
    """The report on a module, printed; options as they are typed, `phases` of a module's process.

    Raises SpecError for words that mean nothing, and what `report_on` raises.
    """
    from ....analysis.modules.told import told
    from ....tools.parts.models.asked import Asked, precisions, report_on, rungs_named

    asked = Asked(
        path=model,
        name=class_name,
        init=keyword_arguments(init),
        inputs=tuple(inputs or ()),
        device=device,
        allow=precisions(allow),
        rungs=rungs_named(rungs or ()),
        batches=tuple(batches or ()),
        phases=tuple(phases),
        threads=threads,
        budget_s=budget_s,
    )
    with telling():
        report = report_on(asked, gpu_names(gpus))
    print(told(report))
    return report
