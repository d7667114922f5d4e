"""The model of cost: what chains, products in other types, graphs and hosts make of a call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelwright.analysis.modules.costs.chains import chain_bytes, chains_of
from kernelwright.analysis.modules.costs.cost import FUSED_SHARE, CostModel
from kernelwright.analysis.modules.opportunities import Found, opportunities
from kernelwright.analysis.modules.rungs import best_rung, rung_rows
from kernelwright.runners.modules.common.messages import (
    Agreement,
    Attention,
    EagerTimes,
    ModuleRow,
    OpRow,
    OwnShape,
    OwnShapes,
    Roofs,
    RungMade,
    RungTimes,
    Trace,
)

MB = 1 << 20
COPY = ((MB, 1.0), (1024 * MB, 1024.0))
"""a microsecond a MiB"""


def moves(n: int, reads: tuple[int, ...], writes: int, us: float, op: str = "aten.add") -> OpRow:
    """An operator that moves whole storages of 8 MiB."""
    return OpRow(
        n=n, op=op, module="m", line=f"model.py:{n}", us=us, kernels=("k",), dtype="float32",
        reads=tuple((r, 0, 8 * MB) for r in reads), writes=((writes, 0, 8 * MB),), key=op,
    )  # fmt: skip


def product(n: int, reads: int, writes: int, us: float) -> OpRow:
    row = moves(n, (reads,), writes, us, "aten.mm")
    return row.model_copy(update={"flops": 10**9, "key": "mm"})


OPS = (
    moves(0, (1,), 2, 20.0),
    moves(1, (2,), 3, 20.0),
    product(2, 3, 4, 100.0),
    moves(3, (4, 1), 5, 30.0),
)


def model(ops: tuple[OpRow, ...] = OPS, ms: float = 0.2, host_ms: float = 0.05) -> CostModel:
    return CostModel(
        on_gpu=True,
        eager=EagerTimes(ms=ms, host_ms=host_ms),
        trace=Trace(ops=ops, modules=(row(),)),
        roofs=Roofs(
            copies=COPY,
            peaks={"float32": 1e13, "tf32": 1e14},
            compiled_call_us=10.0,
            compiled_kernel_us=2.0,
        ),
        own=OwnShapes(found=(OwnShape(key="mm", us=50.0, variants={"tf32": 10.0, "bf16": 5.0}),)),
        attention=Attention(found=()),
    )


def row() -> ModuleRow:
    return ModuleRow(
        path="", class_name="M", calls=1, parameter_bytes=0, peak_bytes=24 * MB, kept_bytes=0
    )


def test_a_chain_ends_at_a_product() -> None:
    assert [[op.n for op in chain] for chain in chains_of(OPS)] == [[0, 1], [3]]


def test_what_a_chain_makes_and_reads_itself_is_not_moved() -> None:
    assert chain_bytes(OPS[:2], OPS[2:]) == 2 * 8 * MB  # 1 in, 3 out; 2 stays within
    assert chain_bytes(OPS[:2], (*OPS[2:], moves(4, (2,), 6, 1.0))) == 3 * 8 * MB
    assert chain_bytes(OPS[3:], ()) == 3 * 8 * MB


def test_a_call_as_it_is_takes_what_was_measured() -> None:
    found = model().predict([])
    assert found is not None
    assert found.ms == pytest.approx(0.2)
    assert found.bound == "device"


def test_fusing_makes_a_chain_one_copy() -> None:
    found = model(ms=0.17).predict(["fuses"])
    assert found is not None
    fused = 16 / FUSED_SHARE + 100 + 24 / FUSED_SHARE
    assert found.device_ms == pytest.approx(fused / 1e3)
    assert found.launches == 3
    assert found.host_ms == pytest.approx((10 + 2 * 3) / 1e3)


def test_fusing_is_never_slower_than_what_it_fuses() -> None:
    quick = tuple(op.model_copy(update={"us": 0.5}) for op in OPS)
    found, before = model(quick, ms=0.002).predict(["fuses"]), 0.002
    assert found is not None and found.device_ms <= before


def test_a_product_in_another_type_costs_what_it_did_at_its_own_shape() -> None:
    found = model(ms=0.17).predict(["tf32"])
    assert found is not None
    assert found.device_ms == pytest.approx((20 + 20 + 100 * 10 / 50 + 30) / 1e3)


def test_bf16_halves_what_is_moved() -> None:
    found = model(ms=0.17).predict(["bf16"])
    assert found is not None
    assert found.device_ms == pytest.approx((10 + 10 + 100 * 5 / 50 + 15) / 1e3)


def test_a_captured_call_does_not_wait_for_the_host() -> None:
    bound = model(ms=1.0, host_ms=1.0)
    eager, captured = bound.predict([]), bound.predict(["captures"])
    assert eager is not None and captured is not None
    assert (eager.bound, eager.ms) == ("host", pytest.approx(1.0))
    assert captured.ms == pytest.approx(0.17)


def test_of_a_module_that_waits_for_the_device_the_model_predicts_no_graph() -> None:
    waiting = moves(9, (5,), 6, 1.0, "aten.nonzero").model_copy(update={"waits": True})
    assert model((*OPS, waiting)).predict(["captures"]) is None
    assert model((*OPS, waiting)).predict(["fuses"]) is None
    assert model((*OPS, waiting)).predict(["tf32"]) is not None


def test_of_threads_the_model_says_nothing() -> None:
    assert model().predict(["threads"]) is None


def test_copies_between_measured_sizes_lie_on_a_line() -> None:
    assert model().copy_us(32 * MB) == pytest.approx(32.0)
    assert model().copy_us(2048 * MB) == pytest.approx(2048.0)
    assert model().copy_us(10) == 1.0


def test_opportunities_are_ranked_by_what_they_gain() -> None:
    found = opportunities(Found(model(ms=1.0, host_ms=1.0)))
    gains = [each.speedup for each in found if each.speedup is not None]
    assert gains == sorted(gains, reverse=True)
    assert {"host-bound", "precision"} <= {each.kind for each in found}
    assert all(each.consent for each in found if each.error_class in ("TF32", "bf16"))


def test_a_line_that_runs_again_and_again_is_a_loop() -> None:
    rounds = tuple(
        moves(n, (n,), n + 1, 5.0).model_copy(update={"line": "model.py:7"}) for n in range(20)
    )
    (loop,) = [o for o in opportunities(Found(model(rounds, ms=0.1))) if o.kind == "loop"]
    assert loop.where == ("model.py:7",)
    assert "20 times" in loop.what


@pytest.mark.parametrize(("mib", "told"), [(0, True), (8, False)])
def test_on_a_cpu_operators_that_are_mostly_their_call_are_tiny(mib: int, told: bool) -> None:
    """The same times: of 8 MiB in and out most of 18 us is the moving."""
    place = ((1, 0, mib * MB),)
    rows = tuple(moves(n, (n,), n + 1, 18.0) for n in range(20))
    small = tuple(op.model_copy(update={"reads": place, "writes": place}) for op in rows)
    found = opportunities(Found(replace(model(small, ms=0.36), on_gpu=False)))
    kinds = {each.kind: each for each in found}
    assert ("tiny operators" in kinds) == told
    assert not told or kinds["tiny operators"].skill == "torch-batching"


def test_sums_by_index_are_told_beside_a_copy_of_as_many_bytes() -> None:
    by_index = moves(9, (4, 5), 6, 90.0, "aten.index_add_")
    found = opportunities(Found(model((*OPS, by_index), ms=0.3)))
    (told,) = [o for o in found if o.kind == "sums by index"]
    assert told.skill == "torch-message-passing"
    assert "take 90 us; copies of as many bytes take 24" in told.what


def test_uploads_from_the_host_are_told_with_their_line() -> None:
    made = moves(9, (5,), 6, 4.0, "aten._to_copy").model_copy(update={"uploads": True})
    found = opportunities(Found(model((*OPS, made), ms=0.18, host_ms=0.05)))
    (told,) = [o for o in found if o.kind == "uploads"]
    assert (told.where, told.skill) == (("model.py:9",), "torch-data-loading")


def test_a_wait_of_the_host_is_told_with_its_line() -> None:
    waiting = moves(9, (5,), 6, 1.0, "aten.nonzero").model_copy(update={"waits": True})
    found = opportunities(Found(model((*OPS, waiting), ms=0.3, host_ms=0.1)))
    (told,) = [o for o in found if o.kind == "synchronisation"]
    assert told.where == ("model.py:9",)


def agrees(rms: float, bit_equal: bool = False) -> Agreement:
    return Agreement(
        rms=rms, worst=rms, bit_equal=bit_equal, close_1e_4=rms < 1e-4, close_1e_2=True
    )


MADE = (
    RungMade(steps=(), agreement=agrees(1e-7, True)),
    RungMade(steps=("compile",), agreement=agrees(2e-7)),
    RungMade(steps=("graphs",), agreement=agrees(1e-2)),
    RungMade(steps=("sdpa",), failed="no"),
)
TIMES = RungTimes(
    rungs=((), ("compile",), ("graphs",)),
    blocks_ms=((2.0, 2.1, 2.0, 2.0), (1.0, 1.0, 1.1, 1.0), (0.5, 0.5, 0.5, 0.5)),
    truth="float64",
)


def test_a_rung_has_its_gain_with_an_interval_and_how_far_the_prediction_was_off() -> None:
    rows = {r.name: r for r in rung_rows(MADE, TIMES, model(ms=0.17))}
    compiled = rows["compile"]
    assert compiled.speedup is not None and compiled.speedup.judgement == "faster"
    gain = 0.17 / ((16 + 24) / FUSED_SHARE / 1e3 + 0.1)
    assert compiled.off == pytest.approx(gain / compiled.speedup.speedup - 1)
    assert compiled.predicted_ms == pytest.approx(2.0 / gain)
    assert rows["sdpa"].verdict == "failed"


def test_a_rung_whose_outputs_differ_is_never_the_best() -> None:
    rows = rung_rows(MADE, TIMES, None)
    assert next(r for r in rows if r.name == "graphs").verdict == "differs"
    best = best_rung(rows)
    assert best is not None and best.name == "compile"


def test_where_nothing_is_faster_nothing_is_best() -> None:
    slow = TIMES.model_copy(update={"blocks_ms": ((2.0,) * 4, (2.0,) * 4, (2.0,) * 4)})
    assert best_rung(rung_rows(MADE, slow, None)) is None
