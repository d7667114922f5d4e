"""Many evaluations of one kernel at a time, on two GPUs that are not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import gpu_lift
import pytest
from pretend_gpu import pretended_gpu

from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Ending
from kernelwright.runners.toolchains.compilers.listings import disassembler
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import SearchStopped, StepReport
from kernelwright.store.records import ArtifactRecord, VariantRecord

CHANGES = {
    "workloads": [{"name": "usual", "symbols": {"n": 600}}],
    "parameters": {"REPEAT": {"values": [100, 10, 1]}},
}
NEVER = 1e9
"""the gain that makes an incumbent: what such a one goes through is told elsewhere"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("two_gpus")
    with pretended_gpu(folder, count=2), Workbench(folder / "out", [folder], ("all",)) as opened:
        yield opened


@pytest.fixture(scope="module")
def kernel(bench: Workbench) -> LoadedKernel:
    loaded = gpu_lift.load(bench.outdir.parent, **CHANGES)
    bench.evaluator.open(loaded)
    return loaded


def test_variants_are_spread_over_the_gpus_and_equal_code_is_measured_once(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    def candidate(repeat: int, source: str = gpu_lift.SOURCE) -> VariantRecord:
        parts = {"source": source, "parameters": {"REPEAT": repeat}}
        return gpu_lift.candidate(bench, kernel.kernel_id, **parts)

    renamed = gpu_lift.SOURCE.replace("kept", "seen")
    twins = [candidate(10), candidate(10, renamed), candidate(10)]
    broken = candidate(1, gpu_lift.spoiled("int m = = n;"))
    wrong = candidate(1, gpu_lift.SOURCE.replace("+ 1.0f", "+ 1.5f"))
    records = [*twins, broken, wrong, candidate(1)]

    found = list(bench.evaluator.evaluate_all(records, NEVER))

    wanted = Counter(record.variant.variant_id for record in records)
    assert Counter(e.variant_id for e in found) == wanted
    by_variant = {e.variant_id: e for e in found}
    assert by_variant[broken.variant.variant_id].ending is Ending.build_failed
    assert by_variant[wrong.variant.variant_id].ending is Ending.wrong
    measured = [e for e in by_variant.values() if e.code_hash and e.same_code_as is None]
    assert len({e.code_hash for e in measured}) == len(measured) == 3
    assert {e.device for e in measured} == {str(d.uuid) for d in bench.gpus.present()}
    for each in by_variant.values():
        assert bench.evaluator.evaluation(each.variant_id) == each, "on disk as it was told"


def test_a_search_on_two_gpus_tells_its_steps_in_order_and_ends(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    settings = Settings(budget_builds=2, min_gain=NEVER)
    session = SearchSession.start(bench, kernel.kernel_id, settings)
    steps = list[StepReport]()
    while isinstance(step := session.step(more=10), StepReport):
        steps.append(step)
    session.close()
    assert isinstance(step, SearchStopped)
    assert [s.step for s in steps] == list(range(1, len(steps) + 1))
    assert session.status().evaluations == len(steps)
    again = SearchSession.resume(bench, session.search_id)
    assert again.status() == session.status()


def test_a_lane_for_each_gpu_that_was_named_and_one_where_none_was(
    bench: Workbench, kernel: LoadedKernel, tmp_path: Path
) -> None:
    assert len(bench.evaluator.lanes(kernel.kernel_id)) == 2
    own = bench.gpus.target(kernel)
    assert bench.evaluator.lanes(kernel.kernel_id)[0] == own
    with pretended_gpu(tmp_path, count=2), Workbench(tmp_path / "out", [tmp_path]) as other:
        assert len(other.gpus.lanes(gpu_lift.load(tmp_path, **CHANGES))) == 1


def test_a_listing_is_made_once_it_is_asked_for(bench: Workbench, kernel: LoadedKernel) -> None:
    def kinds() -> list[str]:
        known = bench.store.require_record("artifacts", baseline, ArtifactRecord)
        return sorted(module.kind for module in known.artifact.modules)

    baseline = bench.evaluator.kernel(kernel.kernel_id).baseline
    assert kinds() == ["cubin", "ptx"]
    bench.evaluator.list_code(baseline)
    bench.evaluator.list_code(baseline)
    if disassembler(b"") is not None:
        assert kinds() == ["cubin", "ptx", "sass"]
