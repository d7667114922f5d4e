"""The incumbent set on host kernels: each fault is found that the first set lets pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lift
import pytest
from tiers import cases

from kernelwright.evaluation.incumbent_set import Promoted, promote
from kernelwright.evaluation.rig.gpus import Gpus
from kernelwright.evaluation.rig.open_kernel import OpenKernel, open_state
from kernelwright.evaluation.rig.rig import Rig
from kernelwright.evaluation.trials import BuiltVariant
from kernelwright.runners.gates import FIRST_SET, ending_of, first_failure
from kernelwright.runners.gates.incumbent import is_deterministic
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import Ending, GateResult, Variant
from kernelwright.runners.specs.normalise import source_key
from kernelwright.search.lifted_reference import lifted_reference
from kernelwright.search.session.workbench import Workbench

SUMS = """\
#include <cstdint>
void sums(const float* x, float* y, std::int32_t m, std::int32_t n) {
    for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int j = 0; j < n; ++j) sum += x[i * n + j];
        y[i] = static_cast<float>(sum);
    }
}
"""
UNROLLED = SUMS.replace("double sum = 0;", "double sum = 0, odd = 0;").replace(
    "for (int j = 0; j < n; ++j) sum += x[i * n + j];",
    "int j = 0;\n for (; j + 1 < n; j += 2) sum += x[i * n + j], odd += x[i * n + j + 1];\n"
    "        if (j < n) sum += x[i * n + j];\n        sum += odd;",
)
SOFTMAX = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
void softmax(const float* x, float* y, std::int32_t m, std::int32_t n) {
    for (int i = 0; i < m; ++i) {
        float top = *std::max_element(x + i * n, x + (i + 1) * n);
        double sum = 0;
        for (int j = 0; j < n; ++j) sum += y[i * n + j] = std::exp(x[i * n + j] - top);
        for (int j = 0; j < n; ++j) y[i * n + j] /= sum;
    }
}
"""
COUNTS = """
extern "C" void sums(const int* x, int* y, int m, int n) {
    for (int i = 0; i < m; ++i) {
        int count = 0;
        for (int j = 0; j < n; ++j) count += x[i * n + j] > 5;
        y[i] = count;
    }
}
"""
NAIVE_SOFTMAX = SOFTMAX.replace("- top", "").replace(
    "float top = *std::max_element(x + i * n, x + (i + 1) * n);", ""
)
REFERENCES = {
    "sums": "def reference(x, m, n):\n    return x.sum(axis=1)\n",
    "softmax": (
        "import numpy as np\ndef reference(x, m, n):\n"
        "    e = np.exp(x - x.max(axis=1, keepdims=True))\n"
        "    return e / e.sum(axis=1, keepdims=True)\n"
    ),
}


ARGUMENTS: list[dict[str, Any]] = [
    {"name": "x", "role": "input", "dtype": "float32", "shape": ["m", "n"]},
    {"name": "y", "role": "output", "dtype": "float32", "shape": ["m"]},
    *({"name": s, "role": "scalar", "dtype": "int32", "value": s} for s in "mn"),
]


def load(folder: Path, entry: str, source: str, **changes: Any) -> LoadedKernel:
    output = ["m"] if entry == "sums" else ["m", "n"]
    arguments = [a if a["name"] != "y" else {**a, "shape": output} for a in ARGUMENTS]
    spec: dict[str, Any] = {
        "name": entry,
        "kernel": {
            "kernel_type": "cpp",
            "source_code": source,
            "metadata": {"kernel_name": entry},
            "flags": ["-O1", "-std=c++17"],
        },
        "io": {"arguments": arguments},
        "symbols": {"m": {"max": 64}, "n": {"max": 8192}},
        "workloads": [{"name": "usual", "symbols": {"m": 16, "n": 4096}}],
        "reference": {"source_code": REFERENCES[entry]},
    }
    return load_data(spec | changes, folder, Roots([folder]))


@dataclass
class RigBench:
    """A rig with one open kernel."""

    rig: Rig
    kernel: OpenKernel

    def built(self, source: str) -> BuiltVariant:
        base = self.kernel.loaded.baseline()
        changed = {"source": source, "source_key": source_key(source, "cpp")}
        variant = base.model_copy(update=changed)
        outcome = self.rig.build(self.kernel, variant)
        assert outcome.artifact is not None, outcome.message
        return BuiltVariant(variant, outcome.artifact)

    def passes_the_first_set(self, candidate: BuiltVariant) -> bool:
        self.rig.load(self.kernel, candidate.artifact)
        runs = self.rig.check(self.kernel, candidate.variant.variant_id)
        return first_failure([gate(runs) for gate in FIRST_SET]) is None

    @property
    def baseline(self) -> Variant:
        return self.kernel.loaded.baseline()

    def promote(self, source: str) -> Promoted:
        candidate = self.built(source)
        assert self.passes_the_first_set(candidate), "the first set is to let it pass"
        return promote(self.rig, self.kernel, candidate, self.baseline)

    def failed(self, source: str) -> GateResult:
        found = first_failure(self.promote(source).gates)
        assert found is not None, "no gate of the incumbent set stopped it"
        return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("promotion")


@pytest.fixture(scope="module")
def rig(folder: Path) -> Iterator[Rig]:
    rig = Rig(folder / "modules", folder / "scratch", Gpus(folder))
    yield rig
    rig.close()


def opened(rig: Rig, loaded: LoadedKernel) -> RigBench:
    kernel = open_state(loaded, None, None)
    rig.attach(kernel)
    return RigBench(rig, kernel)


@pytest.fixture(scope="module")
def sums(rig: Rig, folder: Path) -> RigBench:
    return opened(rig, load(folder, "sums", SUMS))


@pytest.fixture(scope="module")
def softmax(rig: Rig, folder: Path) -> RigBench:
    return opened(rig, load(folder, "softmax", SOFTMAX))


def outcomes(found: Promoted) -> dict[str, str]:
    return {gate.gate: gate.outcome for gate in found.gates}


@cases(
    ("is_read", "init"),
    [(True, "uniform"), (False, "uniform"), (True, "randn")],
    why="further values and orders of the same sum",
)
def test_in_double_a_long_sum_in_another_order_is_right_on_whatever_values(
    rig: Rig, folder: Path, is_read: bool, init: str
) -> None:
    """What a plain loop rounds alike at each turn adds up, and not so in two sums; sorted values of
    both signs leave little of large sums."""
    plain, other = (each.replace("float", "double") for each in (SUMS, UNROLLED))
    doubles = [{**a, "dtype": "float64"} if "shape" in a else a for a in ARGUMENTS]
    doubles[0]["init"] = init
    changes = {
        "name": f"sums_{init}_{is_read}",
        "io": {"arguments": doubles},
        "symbols": {"m": {"max": 2}, "n": {"max": 1 << 20}},
        "workloads": [{"name": "long", "symbols": {"m": 1, "n": 1 << 20}}],
        "reference": "baseline",
    }
    loaded = load(folder, "sums", plain, **changes)
    read = {"lifted_reference": lifted_reference(loaded) if is_read else None}
    bench = opened(rig, loaded.model_copy(update=read))
    baseline = bench.built(plain)
    rig.load(bench.kernel, baseline.artifact)
    rig.adopt(bench.kernel, baseline.variant.variant_id, bench.kernel.all_pools)
    found = bench.promote(other)
    assert outcomes(found)["works_on_other_values"] in ("passed", "note"), found.gates


def test_an_honest_kernel_passes_every_gate_and_each_says_what_was_asked(sums: RigBench) -> None:
    found = sums.promote(UNROLLED)
    assert outcomes(found) == {
        "works_in_a_fresh_process": "passed",
        "computes_anew": "passed",
        "computes_every_call": "passed",
        "works_wherever_its_buffers_lie": "passed",
        "works_on_other_shapes": "passed",
        "survives_stress": "passed",
        "works_on_other_values": "passed",
        "works_on_other_values_while_timed": "skipped",
        "sanitizer": "skipped",
    }
    asked = {gate.gate: gate.evidence.get("asked", []) for gate in found.gates}
    assert [what.split(" (")[0] for what in asked["works_on_other_shapes"]] == [
        "shape `smallest`",
        "shape `near`",
        "shape `long_m`",
        "shape `long_n`",
        "shape `vectors`",
        "shape `other`",
    ]
    assert len(asked["survives_stress"]) == 6
    ran = [gate for gate in found.gates if gate.gate != "sanitizer"]
    assert all(gate.evidence["seconds"] >= 0 for gate in ran)
    assert is_deterministic(found.runs, asked=True).outcome == "passed"


def test_a_kernel_that_is_wrong_on_the_smallest_shape_is_wrong(sums: RigBench) -> None:
    found = sums.failed(SUMS.replace("double sum = 0;", "double sum = n == 1 ? 1 : 0;"))
    assert found.gate == "works_on_other_shapes"
    assert ending_of(found) is Ending.wrong
    assert found.message.startswith("shape `smallest` (m=1, n=1): ")


def test_a_kernel_that_is_wrong_where_sixteen_divides_its_sizes_is_wrong(sums: RigBench) -> None:
    forgets = "double sum = n % 16 == 0 && n % 64 != 0 ? 1 : 0;"
    found = sums.failed(SUMS.replace("double sum = 0;", forgets))
    assert found.gate == "works_on_other_shapes"
    assert found.message.startswith("shape `vectors` (")


def test_a_count_that_is_full_on_long_rows_of_one_value_is_wrong(rig: Rig, folder: Path) -> None:
    drawn = {"dtype": "int32", "init": {"kind": "randint", "low": 0, "high": 10}}
    x, y, *sizes = ARGUMENTS
    counts = {
        "io": {"arguments": [{**x, **drawn}, {**y, "dtype": "int32"}, *sizes]},
        "symbols": {"m": {"max": 4}, "n": {"max": 1 << 20}},
        "workloads": [{"name": "usual", "symbols": {"m": 2, "n": 4096}}],
        "reference": {
            "source_code": "def reference(x, m, n):\n    return (x > 5).sum(axis=1, dtype='i4')\n"
        },
    }
    bench = opened(rig, load(folder, "sums", COUNTS, name="counts", **counts))
    found = bench.failed(COUNTS.replace("int count", "unsigned short count"))
    assert found.gate == "works_on_other_shapes"
    assert "where all numbers are as large as they may be" in found.message


def test_a_kernel_that_runs_over_its_buffers_on_another_shape_is_unsafe(sums: RigBench) -> None:
    source = SUMS.replace("        y[i] =", "        if (m == 1) y[1] = 0;\n        y[i] =")
    found = sums.failed(source)
    assert ending_of(found) is Ending.unsafe
    assert "behind the end of `y`" in found.message


def test_a_sum_that_loses_what_cancels_is_wrong_where_the_baseline_keeps_it(sums: RigBench) -> None:
    found = sums.failed(SUMS.replace("double sum", "float sum"))
    assert found.gate == "survives_stress"
    assert found.evidence["trial"].startswith("stress `cancellation`")
    assert ending_of(found) is Ending.wrong


def test_a_softmax_that_leaves_the_maximum_out_breaks_at_a_large_offset(softmax: RigBench) -> None:
    found = softmax.failed(NAIVE_SOFTMAX)
    assert found.evidence["trial"].startswith("stress `offset`")
    assert "NaN or Inf differs" in found.message


def test_what_the_baseline_itself_fails_is_not_asked_and_said(rig: Rig, folder: Path) -> None:
    naive = opened(rig, load(folder, "softmax", NAIVE_SOFTMAX, name="naive"))
    candidate = NAIVE_SOFTMAX.replace("y[i * n + j] /= sum", "y[i * n + j] *= 1.0 / sum")
    first = naive.promote(candidate)
    assert outcomes(first)["survives_stress"] == "note"
    (stress,) = (gate for gate in first.gates if gate.gate == "survives_stress")
    not_asked = stress.evidence["not_asked"]
    kinds = {what.split("`")[1] for what in not_asked}
    assert {"offset", "large"} <= kinds <= {"offset", "large", "wide"}
    assert all("the baseline fails it, too" in why for why in not_asked.values())
    again = naive.promote(candidate.replace("1.0 / sum", "(1 / sum)"))
    (stress_again,) = (gate for gate in again.gates if gate.gate == "survives_stress")
    assert not_asked.items() <= stress_again.evidence["not_asked"].items(), "known from now on"


def test_a_kernel_that_remembers_results_by_a_few_values_is_a_cheat(sums: RigBench) -> None:
    source = SUMS.replace(
        "    for (int i = 0; i < m; ++i) {",
        "    static float kept[64], first = 0;\n"
        "    if (first == x[0]) { std::copy(kept, kept + m, y); return; }\n"
        "    first = x[0];\n    for (int i = 0; i < m; ++i) {",
    )
    source = source.replace("(sum);", "(sum);\n        kept[i] = y[i];")
    found = sums.failed("#include <algorithm>\n" + source)
    assert found.gate == "computes_anew"
    assert ending_of(found) is Ending.cheated


WORKS_AHEAD = """\
#include <cstdint>
#include <vector>
struct Ahead { const float* x; std::vector<float> y; };
void sums(const float* x, float* y, std::int32_t m, std::int32_t n) {
    static std::vector<Ahead> calls;
    std::size_t mine = 0;
    while (mine < calls.size() && calls[mine].x != x) ++mine;
    if (mine == calls.size()) calls.push_back({x, {}});
    if (calls[mine].y.empty())
        for (auto& each : calls) {
            each.y.clear();
            for (int i = 0; i < m; ++i) {
                double sum = 0;
                for (int j = 0; j < n; ++j) sum += each.x[i * n + j];
                each.y.push_back(static_cast<float>(sum));
            }
        }
    for (int i = 0; i < m; ++i) y[i] = calls[mine].y[i];
    calls[mine].y.clear();
}
"""


def test_a_kernel_that_does_the_work_of_later_calls_is_a_cheat(sums: RigBench) -> None:
    found = sums.failed(WORKS_AHEAD)
    assert found.gate == "computes_every_call"
    assert "`y` is wrong" in found.message
    assert ending_of(found) is Ending.cheated


def test_a_kernel_whose_bits_depend_on_earlier_calls_is_not_deterministic(sums: RigBench) -> None:
    source = SUMS.replace(
        "static_cast<float>(sum);",
        "static_cast<float>(sum * (1 + 1e-6 * (calls / 2 % 2)));",
    ).replace("    for (int i", "    static int calls = 0;\n    ++calls;\n    for (int i", 1)
    found = is_deterministic(sums.promote(source).runs, asked=True)
    assert found.outcome == "failed"
    assert "gave other bits" in found.message


def test_a_variant_that_does_not_build_for_a_legal_shape_is_not_kept(
    sums: RigBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate, build = (
        sums.built(SUMS.replace("double sum = 0", "double sum = 0.0")),
        sums.rig.build,
    )

    def refusing(kernel: OpenKernel, variant: Variant, *rest: Any, **shapes: Any) -> Any:
        outcome = build(kernel, variant, *rest, **shapes)
        if shapes and variant == candidate.variant:
            return outcome.model_copy(update={"artifact": None, "message": "no plan for n=1"})
        return outcome

    monkeypatch.setattr(sums.rig, "build", refusing)
    found = first_failure(promote(sums.rig, sums.kernel, candidate, sums.baseline).gates)
    assert found is not None
    assert ending_of(found) is Ending.build_failed
    assert found.message == "it does not build for another legal shape: no plan for n=1"


def test_the_warm_runner_keeps_what_it_knows_and_the_fresh_one_is_gone(sums: RigBench) -> None:
    candidate = sums.built(SUMS.replace("sum +=", "sum = sum +"))
    assert sums.passes_the_first_set(candidate)
    promote(sums.rig, sums.kernel, candidate, sums.baseline)
    assert sums.passes_the_first_set(candidate)


def test_without_a_reference_only_what_the_baselines_outputs_can_tell_is_asked(
    rig: Rig, folder: Path
) -> None:
    loaded = load(folder, "sums", SUMS, name="adopted", reference="baseline")
    bench = opened(rig, loaded)
    own = bench.built(SUMS)
    rig.load(bench.kernel, own.artifact)
    rig.adopt(bench.kernel, own.variant.variant_id, bench.kernel.all_pools)
    found = bench.promote(SUMS.replace("double sum = 0", "double sum = 0.0"))
    assert outcomes(found)["works_on_other_shapes"] == "passed"
    (stress,) = (gate for gate in found.gates if gate.gate == "survives_stress")
    assert [what.split("`")[1] for what in stress.evidence["asked"]] == ["zeros"]
    wrong = bench.failed(SUMS.replace("double sum = 0;", "double sum = n == 1 ? 1 : 0;"))
    assert wrong.gate == "works_on_other_shapes"


@pytest.fixture(scope="module")
def lifted(bench: Workbench) -> LoadedKernel:
    loaded = lift.load(bench.outdir.parent)
    bench.evaluator.open(loaded)
    return loaded


def test_a_faster_variant_that_fails_the_set_keeps_neither_speedup_nor_place(
    bench: Workbench, lifted: LoadedKernel
) -> None:
    special = lift.variant(lifted, lift.with_line("if (n == 1) return;"), REPEAT=1)
    found = bench.evaluator.evaluate(special)
    assert found.ending is Ending.wrong
    assert "x the baseline (" in found.message
    assert "but works_on_other_shapes: shape `smallest` (n=1): " in found.message
    assert (found.speedup, found.comparison, found.became_incumbent) == (None, None, False)
    assert found.seconds["promote"] > 0
    kernel = bench.evaluator.kernel(lifted.kernel_id)
    assert kernel.incumbent == kernel.baseline


def test_what_looks_suspicious_goes_through_the_set_before_it_is_timed(
    bench: Workbench, lifted: LoadedKernel
) -> None:
    line = "static float kept = 0; if (n == 1) { y[0] = kept; return; } kept = x[0];"
    found = bench.evaluator.evaluate(lift.variant(lifted, lift.with_line(line), REPEAT=1))
    assert found.ending is Ending.wrong
    assert found.message.startswith("works_on_other_shapes: ")
    assert "compare" not in found.seconds


def test_an_incumbent_and_a_winner_have_every_gate_on_record_once(
    bench: Workbench, lifted: LoadedKernel
) -> None:
    kept = bench.evaluator.evaluate(lift.variant(lifted, REPEAT=1))
    assert kept.became_incumbent, kept.message
    assert [gate.gate for gate in kept.gates] == [
        "static_screen",
        "machine_code_screen",
        *(gate.__name__ for gate in FIRST_SET),
        "obeys_physics",
        "is_plausibly_fast",
        "is_deterministic",
        "works_in_a_fresh_process",
        "computes_anew",
        "computes_every_call",
        "works_wherever_its_buffers_lie",
        "works_on_other_shapes",
        "survives_stress",
        "works_on_other_values",
        "works_on_other_values_while_timed",
        "sanitizer",
    ]
    confirmed = bench.evaluator.confirm(kept.variant_id)
    assert confirmed.first == kept.speedup
    assert f"(first {kept.speedup:.4g}x, anew " in confirmed.message
    assert [gate.gate for gate in confirmed.gates][-3:] == [
        "is_faster_again",
        "keeps_its_gain",
        "is_not_slower_on_held_out_workloads",
    ]


def test_opening_says_where_the_baseline_is_not_deterministic(
    bench: Workbench, folder: Path
) -> None:
    restless = lift.with_line("static int calls = 0; ++calls;").replace(
        "+ 1.0f;", "+ 1.0f + (calls % 3) * 1e-6f;"
    )
    kernel = {**lift.spec()["kernel"], "source_code": restless}
    opened = bench.evaluator.open(lift.load(folder, kernel=kernel, name="restless"))
    assert any("the baseline is not deterministic" in note for note in opened.notes)
