"""Without a reference, what the baseline computes is the truth, not how it rounds.

The kernels add long rows in float, term by term; a candidate that adds them in double is nearer to
what they mean than they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.loading.files import LoadedKernel, load_data
from kernelwright.runners.model import Ending, Evaluation
from kernelwright.runners.oracle import lifted_values
from kernelwright.runners.specs.normalise import source_key
from kernelwright.search.lifted_reference import lifted_reference
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.records import KernelRecord, VariantRecord

PLAIN = """extern "C" void means(const float* x, float* y, int rows, int cols) {
    for (int r = 0; r < rows; ++r) {
        float s = 0;
        for (int c = 0; c < cols; ++c) s += x[r * cols + c];
        y[r] = s / cols;
    }
}
"""
EXACT = PLAIN.replace("float s = 0", "double s = 0").replace("s / cols", "(float)(s / cols)")
MISSES_ONE = EXACT.replace("c < cols", "c < cols - 1")
COLS = 1 << 20
"""far enough for a float that grows to lose what it is given"""
SPEC: dict[str, Any] = {
    "name": "means",
    "kernel": {
        "kernel_type": "cpp",
        "source_code": PLAIN,
        "metadata": {"kernel_name": "means"},
    },
    "io": {
        "arguments": [
            {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "cols"],
             "init": {"kind": "uniform", "low": 0.3, "high": 0.301}},
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["rows"]},
            {"name": "rows", "role": "scalar", "dtype": "int32", "value": "rows"},
            {"name": "cols", "role": "scalar", "dtype": "int32", "value": "cols"},
        ]
    },
    "symbols": {"rows": {"min": 1, "max": 4}, "cols": {"min": 1, "max": COLS}},
    "workloads": [{"name": "long", "symbols": {"rows": 1, "cols": COLS}}],
    "reference": "baseline",
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("brief_timing")


class Misreading(Workbench):
    """Takes the baseline for something else: sums of squares."""

    @staticmethod
    def read_reference(loaded: LoadedKernel) -> str | None:
        """A reference that no baseline agrees with."""
        made = lifted_reference(loaded)
        assert made is not None
        return made.replace("return at(v_x", "return 2 * at(v_x")


@pytest.fixture(scope="module")
def misreading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("misreading")
    with Misreading(folder / "out", [folder]) as opened:
        yield opened


def opened_on(bench: Workbench) -> KernelRecord:
    return bench.evaluator.open(load_data(SPEC, Path(bench.outdir.parent), bench.roots))


def tried(bench: Workbench, kernel: KernelRecord, source: str) -> Evaluation:
    base = kernel.loaded.baseline()
    changed = {"source": source, "source_key": source_key(source, "cpp")}
    return bench.evaluator.evaluate(VariantRecord(variant=base.model_copy(update=changed)))


def test_a_sum_that_is_more_exact_than_the_baseline_is_right(bench: Workbench) -> None:
    kernel = opened_on(bench)
    assert any("read from its source and evaluated in fp64" in note for note in kernel.notes)
    assert tried(bench, kernel, EXACT).ending.measured


def test_what_leaves_out_a_term_is_wrong_by_it(bench: Workbench) -> None:
    short = {"cols": 37, "rows": 3}
    spec = {**SPEC, "workloads": [{"name": "short", "symbols": short}]}
    kernel = bench.evaluator.open(load_data(spec, bench.outdir.parent, bench.roots))
    assert tried(bench, kernel, MISSES_ONE).ending is Ending.wrong


def test_a_reading_that_the_baseline_does_not_agree_with_is_dropped_and_told(
    misreading: Workbench,
) -> None:
    kernel = opened_on(misreading)
    told = next(note for note in kernel.notes if note.startswith("the truth: "))
    assert "the baseline's own outputs" in told
    assert "is further from it than rounding explains" in told
    assert tried(misreading, kernel, EXACT).ending is Ending.wrong


@pytest.mark.parametrize("limit", ["LATE_S", "LIFT_S"])
def test_a_reading_that_ends_late_or_takes_too_long_for_a_hundred_seeds_is_dropped(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifted_values, limit, 1e-6)
    monkeypatch.setattr(lifted_values, "MOVED_A_SECOND", math.inf)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        kernel = opened_on(bench)
        assert tried(bench, kernel, EXACT).ending is Ending.wrong


def test_what_is_read_from_a_baseline_makes_no_other_kernel_of_it(bench: Workbench) -> None:
    loaded = load_data(SPEC, bench.outdir.parent, bench.roots)
    assert loaded.reference is None
    read = loaded.model_copy(update={"lifted_reference": lifted_reference(loaded)})
    assert read.lifted_reference
    assert read.kernel_id == loaded.kernel_id
