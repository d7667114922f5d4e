"""A candidate with knobs in a real search: its configurations are tried, the best one counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from kernels import FASTER, SOURCE, tiny_kernel, with_known_peaks

from kernelwright.runners.errors import SpecError
from kernelwright.runners.gates.incumbent import FRESH
from kernelwright.runners.loading.files import load_file
from kernelwright.runners.model import BuildOptions, Candidate, Comparison, Ending, Evaluation
from kernelwright.runners.progress import Listener, listening
from kernelwright.search.engine.work import Evaluate
from kernelwright.search.session.candidate_result import CandidateResult
from kernelwright.search.session.candidate_runs import CandidateRuns, best_of
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.sweep_report import SweepReport
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import NeedsCandidates, StepReport

pytestmark = pytest.mark.alone

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
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("trying")
    tiny_kernel(folder)
    (folder / "out").mkdir()
    with Workbench(with_known_peaks(folder / "out"), [folder]) as bench:
        yield bench


@pytest.fixture(scope="module")
def session(bench: Workbench) -> SearchSession:
    (spec,) = (spec for root in bench.roots.folders for spec in root.rglob("spec.json"))
    kernel = bench.evaluator.open(load_file(spec, bench.roots))
    settings = Settings(budget_builds=10, sweep_builds=7)
    return SearchSession.start(bench, kernel.kernel_id, settings, "client")


def step_with(session: SearchSession, *candidates: Candidate) -> StepReport:
    asked = session.step()
    assert isinstance(asked, NeedsCandidates)
    session.answer(asked.ticket, candidates)
    report = session.step()
    assert isinstance(report, StepReport)
    return report


class Heard(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.reports, self.lines = list[str](), list[str]()

    def report(self, message: str) -> None:
        self.reports.append(message)

    def found(self, message: str) -> None:
        self.lines.append(message)


def test_the_best_configuration_counts_all_builds_of_new_code_do_and_each_is_told(
    bench: Workbench, session: SearchSession
) -> None:
    heard = Heard()
    with listening(heard):
        report = step_with(session, CANDIDATE)
    assert [line.split(" of ")[0] for line in heard.lines] == [
        f"configuration {number}" for number in range(1, 9)
    ], "UNROLL changes no machine code: the eighth is paid for by what cost nothing"
    assert "UNROLL=1 kRepeat=8: " in heard.lines[0] and "x the baseline (" in heard.lines[0]
    assert heard.lines[0].endswith(", the best so far")
    failed = next(line for line in heard.lines if "kRepeat=5" in line)
    assert "build_failed, " in failed and "; best so far " in failed
    number, values = heard.lines[0].split(": ")[:2]
    assert f"{number}: {values}: building" in heard.reports
    assert any("gates of the incumbent: fresh seeds" in each for each in heard.reports)
    assert report.ending is Ending.faster and report.became_incumbent
    tried = [Evaluation.model_validate(each) for _, each in bench.store.items("evaluations")]
    firsts = [each for each in tried if each.evaluation_id.endswith("/0001")]
    baseline = bench.evaluator.kernel(session.record.kernel_id).baseline
    built = [e for e in firsts if e.same_code_as is None and e.variant_id != baseline]
    again = len(tried) - len(firsts)  # a twin that is measured anew as the best was run after all
    assert len(built) <= report.builds <= len(built) + again and len(built) < 8
    assert "kRepeat=1" in report.message
    assert "the best of 8 tried of 8 configurations" in report.message
    assert report.changed == "source, -O3 -march=native -std=c++17, tuned kRepeat, UNROLL"
    assert session.status().best == report.variant_id


def test_of_a_sweep_only_what_may_be_the_best_goes_through_the_gates_of_the_incumbent(
    bench: Workbench, session: SearchSession
) -> None:
    found = [Evaluation.model_validate(each) for _, each in bench.store.items("evaluations")]
    best = [each for each in found if each.variant_id == session.status().best]
    assert [each.became_incumbent for each in best] == [False, True]
    asked = [each for each in found if FRESH in {gate.gate for gate in each.gates}]
    assert best[1] in asked and best[0] not in asked
    assert all(each.evaluation_id.endswith("/0002") for each in asked)


def test_a_budget_that_is_nearly_spent_allows_a_few_configurations_more(
    session: SearchSession,
) -> None:
    more = CANDIDATE.model_copy(update={"knobs": {"kRepeat": (3, 4, 6, 7, 9, 10)}})
    assert step_with(session, more).builds == 10


def nothing_timed(name: str) -> Comparison:
    return Comparison(
        candidate=name, ratios=(), workloads=(), resolution=0.01, samples=0, seconds=0.0
    )


def measured(name: str, speedup: float, low: float, high: float) -> tuple[str, CandidateResult]:
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
    return name, CandidateResult(name, evaluation, known=False)


def test_of_several_measured_configurations_noise_is_not_the_best() -> None:
    tried = [measured("noisy", 1.6, 0.9, 2.4), measured("sure", 1.4, 1.3, 1.5)]
    found = best_of(tried, space=9, builds=2)
    assert (found.variant_id, found.builds) == ("sure", 2)
    assert found.several is not None and "best of 2 tried of 9" in found.several.said


def test_what_was_known_before_is_not_counted_as_tried() -> None:
    new = measured("new", 1.6, 1.5, 1.7)
    old = [(detail, replace(each, known=True)) for detail, each in [measured("old", 2.0, 1.9, 2.1)]]
    both, alone = best_of([new, *old], space=9, builds=1), best_of(old, space=9, builds=0)
    assert both.several is not None and "best of 1 tried and 1 known of 9" in both.several.said
    assert alone.several is not None and "best of 1 known of 9" in alone.several.said


def test_a_configuration_that_was_known_is_not_told_but_may_be_the_best_so_far() -> None:
    telling, heard = SweepReport(CANDIDATE, space=4, left=5), Heard()
    _, known = measured("known", 2.0, 1.9, 2.1)
    with listening(heard):
        telling.ended(CANDIDATE, replace(known, known=True))
        assert telling.coming([CANDIDATE]) == "configuration 1 of 3: a template"
        telling.ended(CANDIDATE, measured("slower", 1.5, 1.4, 1.6)[1])
        telling.ended(CANDIDATE, measured("noisy", 2.4, 0.9, 3.0)[1])
        telling.ended(CANDIDATE, measured("sure", 2.2, 2.15, 2.3)[1])
    of = "3: a template: "
    assert heard.lines == [
        f"configuration 1 of {of}1.5x the baseline (1.4 to 1.6, faster); best so far 2x",
        f"configuration 2 of {of}2.4x the baseline (0.9 to 3, unstable); best so far 2x",
        f"configuration 3 of {of}2.2x the baseline (2.15 to 2.3, faster), the best so far",
    ]


def test_knobs_that_are_nowhere_give_no_variant(bench: Workbench, session: SearchSession) -> None:
    trying = trying_for(bench, session)
    odd = Candidate(method="tune", knobs={"NOWHERE": (1, 2)})
    found = trying.run(Evaluate("e", trying.kernel.baseline, odd, builds=3), None)
    assert isinstance(found, SpecError) and "NOWHERE" in str(found)


def test_a_sweep_ends_with_what_it_has_once_the_time_is_over(
    bench: Workbench, session: SearchSession
) -> None:
    trying = trying_for(bench, session, late=True)
    more = CANDIDATE.model_copy(update={"knobs": {"kRepeat": (11, 12, 13)}})
    found = trying.run(Evaluate("e", trying.kernel.baseline, more, builds=3), None)
    assert isinstance(found, CandidateResult)
    assert found.builds == 1 and found.several is not None
    assert "the best of 1 tried of 3 configurations" in found.several.said


def test_twins_that_are_measured_anew_as_the_best_cost_no_further_build(
    bench: Workbench, session: SearchSession
) -> None:
    trying = trying_for(bench, session)
    faster = SOURCE.replace(
        "void bump", "constexpr int kUnread = 1;\nstatic_assert(kUnread > 0);\n\nvoid bump"
    )
    twins = Candidate(
        method="tune",
        source=faster,
        options=BuildOptions.model_validate(FASTER),
        knobs={"kUnread": (1, 2, 3, 4)},
    )
    settled = replace(trying, min_gain=-0.9)  # so that all of them seem to beat the incumbent
    found = settled.run(Evaluate("e", trying.kernel.baseline, twins, builds=2), None)
    assert isinstance(found, CandidateResult)
    assert found.several is not None and "of 4 configurations" in found.several.said
    assert found.builds <= 2


def trying_for(bench: Workbench, session: SearchSession, late: bool = False) -> CandidateRuns:
    kernel = bench.evaluator.kernel(session.status().kernel_id)
    return CandidateRuns(bench.evaluator, kernel, min_gain=0.01, seed=0, lanes=1, late=lambda: late)
