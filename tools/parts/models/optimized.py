"""The optimized module as files: a Python file that wraps the user's own, the steps that it takes,
and a report. Nothing of Kernelwright is needed to run it; the user's file stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....runners.modules import steps as step_files
from ....runners.modules.steps import BY_NAME
from ....runners.whole_files import write_whole

if TYPE_CHECKING:
    from ....analysis.modules.report import ModuleReport

STEPS = "steps"
WRAPPER = '''"""{title}

Made from {path} by `kernelwright optimize-model`. Measured there: {gain}; {error}.

    from optimized import optimized
    fast = optimized(model, example_inputs)     # your module on its device, in evaluation mode
    with torch.no_grad():
        out = fast(*example_inputs)

Undo: call your module itself, its file and weights are as they were. By step:
{undo}
"""

import sys
from importlib import import_module
from pathlib import Path

STEPS = {steps!r}


def optimized(model, example_inputs):
    """`model` with every step applied, for inputs like these."""
    folder = str(Path(__file__).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for name in STEPS:
        model = import_module(f"steps.{{name}}").apply(model, tuple(example_inputs))
    return model
'''


def write_optimized(report: ModuleReport, path: Path, outdir: Path) -> Path:
    """Write `optimized.py`, `steps/` and `report.json` of the best rung; the first one's path.

    Raises ValueError where the report has no best rung.
    """
    row = next((each for each in report.ladder if each.name == report.best), None)
    if row is None or row.speedup is None or row.agreement is None:
        raise ValueError("no rung is faster for sure")
    home, folder = Path(step_files.__file__).parent, outdir / STEPS
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "__init__.py", '"""Steps of the optimized module."""\n')
    modules = {name: BY_NAME[name].apply.__module__.rsplit(".", 1)[-1] for name in row.steps}
    needed = {"base", *modules.values(), *(f for name in row.steps for f in BY_NAME[name].files)}
    for name in sorted(needed):
        write_whole(folder / f"{name}.py", (home / f"{name}.py").read_text(encoding="utf-8"))
    write_whole(outdir / "report.json", report.model_dump_json(indent=1) + "\n")
    s = row.speedup
    text = WRAPPER.format(
        title=f"{report.subject.class_name}, {row.name}.",
        path=path.name,
        gain=f"{s.speedup:.3g}x ({s.low:.3g} to {s.high:.3g}) on {report.subject.device}",
        error=f"rms error {row.agreement.rms:.1e} against {report.truth} ({row.error_class})",
        undo="\n".join(f"- {name}: {BY_NAME[name].undo}" for name in row.steps),
        steps=tuple(modules.values()),
    )
    return write_whole(outdir / "optimized.py", text)
