"""A candidate with knobs in a real search: its configurations are tried, the best one counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernels import FASTER, SOURCE, tiny_kernel, with_known_peaks

from kernelwright.runners.errors import SpecError
from kernelwright.runners.model import BuildOptions, Candidate, Comparison, Ending, Evaluation
from kernelwright.runners.specs.files import load_file
from kernelwright.search.settings import Settings
from kernelwright.search.work import Evaluate
from kernelwright.tools.lanes import Tried
from kernelwright.tools.search_records import NeedsCandidates, StepReport
from kernelwright.tools.search_session import SearchSession
from kernelwright.tools.trying import Trying, best_of
from kernelwright.tools.workbench import Workbench

TEMPLATE = SOURCE.replace(
    "void bump", "constexpr int kRepeat = 8;\nstatic_assert(kRepeat != 5);\n\nvoid bump"
).replace("    for (", "    for (volatile int again = 0; again < kRepeat; again = again + 1) for (")
"""the fewer repetitions the faster; 5 of them do not build"""
KNOBS = {"kRepeat": (1, 2, 5, 8), "UNROLL": (1, 4)}
CANDIDATE = Candidate(
    method="repeat",
    detail="a template",
    source=TEMPLATE,
    options=BuildOptions.model_validate(FASTER),
    knobs=KNOBS,
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchSession]:
    folder = tmp_path_factory.mktemp("trying")
    spec = tiny_kernel(folder).folder / "spec.json"
    (folder / "out").mkdir()
    with Workbench(with_known_peaks(folder / "out"), [folder]) as bench:
        kernel = bench.evaluator.open(load_file(spec, bench.roots))
        settings = Settings(budget_builds=10, sweep_builds=7)
        yield SearchSession.start(bench, kernel.kernel_id, settings, "client")


def step_with(session: SearchSession, *candidates: Candidate) -> StepReport:
    asked = session.step()
    assert isinstance(asked, NeedsCandidates)
    session.answer(asked.ticket, candidates)
    report = session.step()
    assert isinstance(report, StepReport)
    return report


def test_the_best_configuration_counts_and_all_builds_do(session: SearchSession) -> None:
    report = step_with(session, CANDIDATE)
    assert report.ending is Ending.faster and report.became_incumbent
    assert report.builds == 7
    assert "kRepeat=1" in report.message
    assert "the best of 7 tried of 8 configurations" in report.message
    assert report.changed == "source, -O3 -march=native -std=c++17, tuned kRepeat, UNROLL"
    assert session.status().incumbent == report.variant_id


def test_a_budget_that_is_nearly_spent_allows_a_few_configurations_more(
    session: SearchSession,
) -> None:
    more = CANDIDATE.model_copy(update={"knobs": {"kRepeat": (3, 4, 6, 7, 9, 10)}})
    assert step_with(session, more).builds == 10


def nothing_timed(name: str) -> Comparison:
    return Comparison(
        candidate=name, ratios=(), workloads=(), resolution=0.01, samples=0, seconds=0.0
    )


def test_of_several_measured_configurations_noise_is_not_the_best() -> None:
    def measured(name: str, speedup: float, low: float, high: float) -> tuple[str, Tried]:
        evaluation = Evaluation(
            evaluation_id=f"{name}/1",
            variant_id=name,
            kernel_id="k",
            ending=Ending.unstable if high > 2 * low else Ending.faster,
            tier="native",
            message="",
            comparison=nothing_timed(name),
            speedup=speedup,
            interval=(low, high),
        )
        return name, Tried(name, evaluation, known=False)

    found = best_of([measured("noisy", 1.6, 0.9, 2.4), measured("sure", 1.4, 1.3, 1.5)], space=9)
    assert (found.variant_id, found.builds) == ("sure", 2)
    assert found.several is not None and "best of 2 tried of 9" in found.several.said


def test_knobs_that_are_nowhere_give_no_variant(session: SearchSession) -> None:
    bench, status = session._bench, session.status()  # pyright: ignore[reportPrivateUsage]
    kernel = bench.evaluator.kernel(status.kernel_id)
    trying = Trying(bench.evaluator, kernel, min_gain=0.01, seed=0, lanes=1)
    odd = Candidate(method="tune", knobs={"NOWHERE": (1, 2)})
    found = trying.tried(Evaluate("e", kernel.baseline, odd, builds=3), None)
    assert isinstance(found, SpecError) and "NOWHERE" in str(found)
