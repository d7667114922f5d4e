"""A build of a minute takes a sweep no longer than the other configurations do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import gpu_lift
import pytest
from pretend_gpu import pretended_gpu

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.errors import ProcessLost
from kernelwright.runners.model import BuildFacts, BuildOptions, Candidate, Ending, Evaluation
from kernelwright.runners.processes.process_table import process_table
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.engine.work import Evaluate
from kernelwright.search.session import build_limit as limits
from kernelwright.search.session.build_limit import BEFORE_ANY, BESIDE_IT, SHORTEST_S, build_limit
from kernelwright.search.session.candidate_result import CandidateResult
from kernelwright.search.session.candidate_runs import CandidateRuns
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.records import VariantRecord

pytestmark = pytest.mark.usefixtures("own_zygotes")
SLOW_FOR_6 = gpu_lift.SOURCE.replace(
    gpu_lift.START,
    gpu_lift.START
    + """\
#if REPEAT == 6
    float held[4000];
    #pragma unroll
    for (int q = 0; q < 4000; ++q) held[q] = x[q];
    #pragma unroll
    for (int q = 0; q < 4000; ++q) if (held[q] > held[q * 31 % 4000] + 1.0f) y[0] = q;
#endif
""",
)
"""for 6 a thread keeps thousands of elements in registers: the compiler works on it for a minute"""
NEVER = 1e9
"""the gain that makes an incumbent"""
WHOLE = Candidate(method="repeat", source=SLOW_FOR_6, knobs={"REPEAT": (12, 6, 3, 1)})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("limits")
    with pretended_gpu(folder), Workbench(folder / "out", [folder]) as opened:
        changes = {"workloads": [{"name": "usual", "symbols": {"n": 600}}]}
        opened.evaluator.open(gpu_lift.load(folder, **changes))
        yield opened


@pytest.fixture(scope="module")
def kernel_id(bench: Workbench) -> str:
    ((kernel_id, _),) = bench.store.items("kernels")
    return kernel_id


def swept(bench: Workbench, kernel_id: str) -> CandidateResult:
    kernel = bench.evaluator.kernel(kernel_id)
    trying = CandidateRuns(bench.evaluator, kernel, NEVER, seed=0, lanes=1, late=lambda: False)
    found = trying.run(Evaluate("e", kernel.baseline, WHOLE, builds=4), None)
    assert isinstance(found, CandidateResult) and found.several is not None
    return found


def slow_variant(bench: Workbench, kernel_id: str) -> VariantRecord:
    values = {"REPEAT": 6}
    return gpu_lift.candidate(bench, kernel_id, source=SLOW_FOR_6, parameters=values)


def test_a_build_of_a_minute_is_a_configuration_that_failed_and_the_sweep_goes_on(
    bench: Workbench, kernel_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BESIDE_IT", 1)  # checks and timing are slow on this GPU
    found = swept(bench, kernel_id)
    assert found.several is not None and found.evaluation.ending.measured
    assert "the best of 4 tried of 4 configurations, 1 timed_out" in found.several.said
    assert found.builds == 3, "what did not end cost a build, what is known already none"
    slow = slow_variant(bench, kernel_id).variant.variant_id
    evaluation = bench.evaluator.evaluation(slow)
    assert evaluation is not None and evaluation.ending is Ending.timed_out
    assert "a sweep allows no more where others took far less" in evaluation.message
    assert not builds_beneath(bench.outdir), "it was killed with all that it started"


def test_a_sweep_that_goes_on_leaves_alone_what_it_had_no_time_to_build(
    bench: Workbench, kernel_id: str
) -> None:
    slow = slow_variant(bench, kernel_id)
    before = bench.evaluator.evaluation(slow.variant.variant_id)
    again = swept(bench, kernel_id)
    assert again.several is not None and "1 timed_out" in again.several.said
    assert bench.evaluator.evaluation(slow.variant.variant_id) == before


def test_whoever_asks_for_one_variant_gives_it_as_long_as_any_build_has(
    bench: Workbench, kernel_id: str
) -> None:
    source = gpu_lift.spoiled("n += 1 - 1;")
    nvcc = BuildOptions(compiler="nvcc")  # of NVRTC's the last ones within seconds are let through
    record = gpu_lift.candidate(bench, kernel_id, source=source, options=nvcc)
    hurried = bench.evaluator.evaluate(record, NEVER, limit_s=0.001)
    assert (hurried.ending, hurried.build_limit_s) == (Ending.timed_out, 0.001)
    assert bench.evaluator.evaluate(record, NEVER, limit_s=60.0) == hurried
    assert bench.evaluator.evaluate(record, NEVER).ending.measured


def builds_beneath(folder: Path) -> list[str]:
    """Folders in which something is built now."""
    found = list[str]()
    for pid in process_table():
        with suppress(OSError):  # it has ended meanwhile
            found.append(os.readlink(f"/proc/{pid}/cwd"))
    return [each for each in found if each.startswith(str(folder)) and "/build-" in each]


def test_who_is_in_a_hurry_does_not_share_the_build_of_one_who_is_not(tmp_path: Path) -> None:
    loaded, builder = gpu_lift.load(tmp_path), Builder(tmp_path / "modules", tmp_path / "scratch")
    changes = {"source": SLOW_FOR_6, "parameters": {"REPEAT": 6}}
    asked = BuildRequest(
        kernel=loaded,
        variant=loaded.baseline().model_copy(update=changes),
        shapes=(Shape(label="usual", symbols={"n": 600}),),
        device=PROFILES[0][0],
    )
    with ThreadPoolExecutor(1) as threads:
        patient = threads.submit(builder.build, asked)
        hurried = builder.build(asked.model_copy(update={"timeout_s": 1.0}))
        assert hurried.timed_out and not patient.done()
        builder.close()
        with pytest.raises(ProcessLost):
            patient.result()


def evaluation(build_s: float | None, **seconds: float) -> Evaluation:
    facts = None if build_s is None else BuildFacts(compiler="c", command="c", seconds=build_s)
    ending = Ending.build_failed if build_s is None else Ending.wrong
    return Evaluation(
        evaluation_id="v/0001",
        variant_id="v",
        kernel_id="k",
        ending=ending,
        tier="device",
        message="",
        build=facts,
        seconds=seconds,
    )


def test_a_build_may_take_as_long_as_what_is_beside_it_is_evaluated_in_all() -> None:
    usual = evaluation(3.0, build=0.1, check=1.0, compare=2.0, wait=50.0)
    assert build_limit([usual]) == BESIDE_IT * 6.0
    heavy = evaluation(100.0, check=1.0)
    assert build_limit([usual, heavy, usual]) == BESIDE_IT * 6.0
    assert build_limit([evaluation(0.1, check=0.1)]) == SHORTEST_S


def test_the_first_batch_of_a_sweep_is_limited_by_what_its_parent_took() -> None:
    parent = evaluation(3.0, check=1.0, compare=2.0)
    assert build_limit([], parent) == BEFORE_ANY * BESIDE_IT * 6.0
    assert build_limit([evaluation(None)], evaluation(0.1)) == BEFORE_ANY * SHORTEST_S
    assert build_limit([evaluation(9.0)], parent) == BESIDE_IT * 9.0, "siblings know better"


def test_nothing_is_known_of_a_kernels_builds_before_one_ended_well() -> None:
    assert build_limit([], evaluation(None)) is None
    assert build_limit([]) is None
    assert build_limit([evaluation(None, build=9.0)]) is None
    shared = evaluation(4.0, build=0.0)
    assert build_limit([shared]) == BESIDE_IT * 4.0, "of a measurement that it only shares"
