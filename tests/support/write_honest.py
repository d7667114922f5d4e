"""Write the table of honest neighbours in docs/attacks.md: `python tests/support/write_honest.py`.

Counted are pages that name what they are near to, and cases of tests that a screen must let pass.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any, get_args

from kernelwright.server.selftest.cheats import Subject, catalogue

ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs" / "attacks.md"
BEGIN, END = "<!-- honest: written by tests/support/write_honest.py -->", "<!-- /honest -->"
LOOKED_AT: dict[str, str] = {
    "sources": "`static_screen`",
    "captures": "what a Triton wrapper does while it is captured (`rejected`)",
    "host code": "`machine_code_screen` of a host",
    "GPU code": "`machine_code_screen` of a GPU",
    "probes": "questions for time, machine and caller",
    "values": "`works_on_other_values`, `survives_stress`",
    "places": "`works_wherever_its_buffers_lie`, guard bands",
    "shapes": "`works_on_other_shapes`",
    "patterns": "poison and what memory held before (`is_right`, `sanitizer_initcheck`)",
    "calls": "`computes_every_call`, `computes_anew`",
    "early looks": "outputs looked at behind the event (`is_right_while_timed`)",
    "layouts": "strides of outputs",
    "repeats": "`is_deterministic`",
    "references": "judge and reference apart",
}
RUNNERS = ROOT / "tests" / "runners"
CASES = {
    "sources": (
        ("screens/test_source.py", "HARMLESS"),
        ("screens/test_flags.py", "HARMLESS"),
        ("screens/test_python.py", "PASSED"),
    ),
    "host code": (("screens/instructions/test_host_code.py", "HONEST"),),
    "GPU code": (("screens/instructions/test_asked_once.py", "HONEST"),),
    "probes": (("screens/test_source.py", "ASKING_NOTHING"),),
    "calls": (("gates/test_repeats.py", "ALIKE"),),
    "layouts": (("capture/test_layouts.py", "HONEST"),),
    "repeats": (("gates/test_incumbent.py", "ALIKE"),),
    "references": (("oracle/test_honest_references.py", "HONEST"),),
}
"""files of tests, and the names of their lists"""


def table() -> str:
    """Of each subject: how many pages are near it, in each language, and how many cases."""
    near = Counter((s, c.kernel_type) for c in catalogue() for s in c.page.near)
    rows = [
        "| what looks | C++ | CUDA | Triton | cases of tests |",
        "|---|--:|--:|--:|--:|",
    ]
    for subject in get_args(Subject):
        counts = [near[subject, kind] for kind in ("cpp", "cuda", "triton")]
        told = " | ".join(str(n or "") for n in (*counts, _cases(subject)))
        rows.append(f"| {LOOKED_AT[subject]} | {told} |")
    return "\n".join((BEGIN, "", *rows, "", END))


def written(text: str) -> str:
    """The document with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


def _cases(subject: str) -> int:
    if subject == "captures":
        return len(list((ROOT / "tests" / "triton_cases" / "ok").glob("*.py")))
    return sum(len(_list_of(RUNNERS / file, name)) for file, name in CASES.get(subject, ()))


def _list_of(file: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


if __name__ == "__main__":
    PATH.write_text(written(PATH.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {PATH}")
