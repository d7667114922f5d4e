"""Which variants win, and which winners are confirmed: what real times decide, end to end."""

from __future__ import annotations

from pathlib import Path

import lift
import pytest

from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Ending
from kernelwright.search.session.workbench import Workbench

pytestmark = pytest.mark.alone


def test_less_work_is_faster_and_becomes_the_incumbent_with_an_interval(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    found = lift.verdict(bench.evaluator, lift.variant(kernel, REPEAT=1))
    assert found.ending == Ending.faster
    assert found.interval is not None
    assert found.speedup is not None
    low, high = found.interval
    assert 1 < low <= found.speedup <= high
    assert bench.evaluator.kernel(kernel.kernel_id).incumbent == found.variant_id
    slower = lift.verdict(bench.evaluator, lift.variant(kernel, REPEAT=6))
    assert slower.ending == Ending.faster, "over the baseline"
    assert not slower.became_incumbent


def test_a_winner_is_confirmed_on_fresh_seeds_and_held_out_workloads(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    record = lift.variant(kernel, REPEAT=1)
    lift.verdict(bench.evaluator, record)
    found = bench.evaluator.confirm(record.variant.variant_id)
    assert found.accepted
    assert found.held_out is not None
    assert [w.workload for w in found.held_out.workloads] == ["hidden"]
    assert bench.evaluator.confirmation(record.variant.variant_id) == found


def test_a_winner_that_only_knows_the_visible_shape_is_refused(tmp_path: Path) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        loaded = lift.load(tmp_path, symbols={"n": None})
        bench.evaluator.open(loaded)
        special = lift.with_line("if (n != 20000) return;")
        record = lift.variant(loaded, special, REPEAT=1)
        assert lift.verdict(bench.evaluator, record).ending == Ending.faster
        found = bench.evaluator.confirm(record.variant.variant_id)
        assert not found.accepted
        assert "`hidden`" in found.message
        kernel = bench.evaluator.kernel(loaded.kernel_id)
        assert kernel.incumbent == kernel.baseline, "a refused winner does not stay the best"


def test_where_the_best_was_refused_a_runner_up_takes_its_place(tmp_path: Path) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        loaded = lift.load(tmp_path, symbols={"n": None})
        bench.evaluator.open(loaded)
        honest = lift.variant(loaded, lift.SOURCE, REPEAT=4)
        assert bench.evaluator.evaluate(honest, None).ending == Ending.faster
        special = lift.variant(loaded, lift.with_line("if (n != 20000) return;"), REPEAT=1)
        assert bench.evaluator.evaluate(special).became_incumbent
        assert not bench.evaluator.confirm(special.variant.variant_id).accepted
        assert bench.evaluator.succeed(loaded.kernel_id, min_gain=0.01)
        incumbent = bench.evaluator.kernel(loaded.kernel_id).incumbent
        assert incumbent == honest.variant.variant_id
        assert bench.evaluator.confirm(incumbent).accepted
        assert not bench.evaluator.succeed(loaded.kernel_id, min_gain=0.01), "nobody is left"


def test_the_baseline_can_be_the_reference(tmp_path: Path) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        loaded = lift.load(tmp_path, reference="baseline")
        bench.evaluator.open(loaded)
        record = lift.variant(loaded, REPEAT=1)
        assert lift.verdict(bench.evaluator, record).ending == Ending.faster
        wrong = lift.SOURCE.replace("1.0f;", "1.1f;")
        assert bench.evaluator.evaluate(lift.variant(loaded, wrong)).ending == Ending.wrong
