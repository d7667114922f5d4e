"""A small kernel for tests: a baseline that works twelve times as much as it must."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelwright.evaluation.evaluator import Evaluator
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import Ending, Evaluation, Variant
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.store.records import VariantRecord

SOURCE = """\
#ifndef REPEAT
#define REPEAT 12
#endif

void lift(const float* x, float* y, int n) {
    for (int r = 0; r < REPEAT; ++r)
        for (int i = 0; i < n; ++i) {
            volatile float kept = x[i];
            y[i] = 2.0f * kept + 1.0f;
        }
}
"""
BODY = SOURCE[SOURCE.index("    for (int r") :]
REFERENCE = "def reference(x, n):\n    return 2 * x + 1\n"


def spec(**changes: Any) -> dict[str, Any]:
    """The spec of `lift` as JSON data, some top-level fields replaced."""
    return {
        "name": "lift",
        "kernel": {
            "kernel_type": "cpp",
            "source_code": SOURCE,
            "metadata": {"kernel_name": "lift"},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ],
            "bytes": "8 * n",
            "flops": "2 * n",
        },
        "symbols": {"n": {"min": 1, "max": 1000000}},
        "workloads": [
            {"name": "usual", "symbols": {"n": 20000}},
            {"name": "hidden", "symbols": {"n": 15001}, "held_out": True},
        ],
        "parameters": {"REPEAT": {"values": [12, 6, 3, 1]}},
        "reference": {"source_code": REFERENCE},
        **changes,
    }


def load(folder: Path, **changes: Any) -> LoadedKernel:
    """`lift` loaded, as if its spec lay in a folder."""
    return load_data(spec(**changes), folder, Roots([folder]))


def write_spec(folder: Path, **changes: Any) -> Path:
    """`lift` as files: `lift.json`, `lift.cpp` and `reference.py`; the path of the spec."""
    data = spec(**changes)
    data["kernel"] = {
        "kernel_type": "cpp",
        "source_path": "lift.cpp",
        "metadata": {"kernel_name": "lift"},
    }
    data["reference"] = "reference.py"
    (folder / "lift.cpp").write_text(SOURCE, encoding="utf-8")
    (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
    path = folder / "lift.json"
    path.write_text(json.dumps(data, indent=2), encoding="utf-8")
    return path


def variant(kernel: LoadedKernel, source: str | None = None, **parameters: int) -> VariantRecord:
    """A variant of a kernel with another source or other parameter values."""
    base: Variant = kernel.baseline()
    text = base.source if source is None else source
    return VariantRecord(
        variant=base.model_copy(
            update={
                "source": text,
                "source_key": source_key(text, "cpp"),
                "parameters": base.parameters | parameters,
            }
        ),
        parent=base.variant_id,
        method="by_hand",
    )


def with_line(line: str, *, above: str = "") -> str:
    """The source of `lift` with one statement before its loop, and lines at its top."""
    return above + SOURCE.replace(BODY, f"    {line}\n{BODY}")


def slow_with_line(line: str, *, above: str = "") -> str:
    """The same at a third of the speed: a few blocks settle that it is slower, and nobody asks
    whether it may become the incumbent."""
    return with_line(line, above=above).replace("r < REPEAT", "r < 3 * REPEAT")


def verdict(evaluator: Evaluator, record: VariantRecord) -> Evaluation:
    """How a variant ends; where others on the machine kept it from a verdict, it is asked again."""
    found, asked = evaluator.evaluate(record), 1
    while found.ending is Ending.unstable and asked < 5:
        found, asked = evaluator.evaluate(record), asked + 1
    return found


def build_request(folder: Path, repeat: int, timeout_s: float = 60.0) -> BuildRequest:
    loaded = load(folder)
    shapes = tuple(Shape(label=w.name, symbols=w.symbols) for w in loaded.spec.workloads)
    built = variant(loaded, REPEAT=repeat).variant
    return BuildRequest(kernel=loaded, variant=built, shapes=shapes, timeout_s=timeout_s)
