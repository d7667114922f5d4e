"""A search whose candidates give one machine code from two sources: real builds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import FASTER, tiny_kernel, with_known_peaks

from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import NeedsCandidates, StepReport

FAST = Candidate(method="flags", options=BuildOptions.model_validate(FASTER))
FAST_TOO = FAST.model_copy(update={"parameters": {"UNROLL": 4}})
"""the source does not use UNROLL"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as opened:
        yield opened


@pytest.fixture
def session(bench: Workbench, tmp_path: Path) -> SearchSession:
    kernel_id = bench.evaluator.open(load_file(tmp_path / "spec.json", Roots([tmp_path]))).kernel_id
    return SearchSession.start(bench, kernel_id, Settings(budget_builds=5), "client")


def step_with(session: SearchSession, *candidates: Candidate) -> list[StepReport]:
    asked = session.step()
    assert isinstance(asked, NeedsCandidates)
    session.answer(asked.ticket, candidates)
    steps = [session.step() for _ in candidates]
    return [each for each in steps if isinstance(each, StepReport)]


def test_equal_machine_code_is_one_node_that_knows_both_variants(
    session: SearchSession, bench: Workbench
) -> None:
    first, second = step_with(session, FAST, FAST_TOO)
    assert first.variant_id != second.variant_id
    assert first.speedup == second.speedup
    assert (second.builds, second.duplicate, second.became_incumbent) == (1, False, False)
    rows = [Transition.model_validate(row) for _, row in bench.store.items("transitions")]
    assert [row.variant_id for row in rows] == [first.variant_id, second.variant_id]
    assert rows[0].ms == rows[1].ms != {}
    assert [row.right for row in rows] == [True, False]
    status = session.status()
    assert sum(status.endings.values()) == 1
    assert status.best == first.variant_id
