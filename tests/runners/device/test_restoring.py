"""What is made as new before a run, and what a second run finds as the first has left it."""

from __future__ import annotations

import os
from itertools import count
from typing import Any

import numpy as np
import pytest
from device_kernels import CONTRACT, integer, launch, pointer

from kernelwright.runners.device.copying import copy_bandwidth
from kernelwright.runners.device.cuda_driver import driver
from kernelwright.runners.device.memory import DeviceInputs, Region
from kernelwright.runners.device.restoring import Images, Restoring
from kernelwright.runners.device.setting import Setting, Shape
from kernelwright.runners.device.tables import BLANK, Table, repeated
from kernelwright.runners.plans.plan import LaunchPlan, argument_buffers, contract_outputs
from kernelwright.runners.protocol.arena_values import InputPool
from kernelwright.runners.protocol.messages import Pool
from kernelwright.runners.specs.io_contract import Contract

N = 1000
STAGE = 1 << 30
SLOTS, SETS = 3, 2


def device_inputs() -> DeviceInputs:
    contract = Contract.model_validate(CONTRACT)
    message = Pool(pool="k/w", contract=contract, symbols={"n": N}, label="w", slots=SLOTS)
    fd = os.memfd_create("inputs")
    os.ftruncate(fd, 1 << 20)
    made = DeviceInputs(InputPool.of(message, fd))
    os.close(fd)
    return made


def setting() -> Setting:
    """`twice` with a lock that setup clears, and scratch memory that it does not."""
    inputs = device_inputs()
    contract = inputs.pool.contract
    buffers = [b.model_dump() for b in argument_buffers(contract)]
    for name in ("lock", "scratch"):
        buffers.append({"name": name, "role": "scratch", "nbytes": 512, "align": 16})
    step = launch("twice", 4, pointer("x"), pointer("y"), integer("n", N), pointer("lock"))
    plan = LaunchPlan.model_validate(
        {
            "label": "w",
            "kernels": [{"id": "twice", "entry": "twice", "sha256": "0" * 64}],
            "buffers": buffers,
            "setup": [{"fill": "lock", "offset": 0, "nbytes": 4, "pattern": "00"}],
            "steps": [step],
            "outputs": [o.model_dump() for o in contract_outputs(contract)],
        }
    )
    stage = Region()
    stage.address, stage.nbytes = STAGE, 1 << 20
    return Setting(plan, inputs, Shape.of(plan, contract, SETS, barely_aligned=False), stage, 0)


def written(table: Table, made: Setting, name: str, index: int) -> list[int]:
    """The sources of all rows that write to a buffer of one set; 0: a pattern."""
    start = made.addresses[index][name]
    ends = start + next(b.nbytes for b in made.plan.buffers if b.name == name)
    rows = table[(table["target"] >= start) & (table["target"] < ends)]
    return [int(source) for source in rows["source"]]


def test_every_set_gets_its_seed_its_poison_and_its_guards() -> None:
    made = setting()
    restoring = Restoring(made, Images({}, made))
    table = restoring.table({1: 2, 0: 1}, 0xA5)
    for index, slot in ((1, 2), (0, 1)):
        assert written(table, made, "x", index) == [made.inputs.address(slot, "x")]
        for name in ("y", "lock", "scratch"):
            assert written(table, made, name, index) == [0]
        guards = {start for start, _ in made.guards[index]}
        assert guards <= set(table["target"].tolist())
    alone = restoring.table({1: 2}, 0xA5)
    assert not written(alone, made, "x", 0)
    assert written(alone, made, "x", 1)


def test_a_second_run_finds_what_setup_had_prepared_as_the_first_has_left_it() -> None:
    made = setting()
    table = Restoring(made, Images({}, made)).table({0: 0, 1: 1}, 0xFF, again=True)
    for index in range(SETS):
        assert written(table, made, "lock", index) == []
        for name in ("x", "y", "scratch"):
            assert len(written(table, made, name, index)) == 1


def test_blanking_leaves_nothing_of_a_set_and_the_rest_of_the_stage_is_unused() -> None:
    made = setting()
    table = Restoring(made, Images({}, made)).blanking((1,))
    assert set(table["pattern"].tolist()) == {repeated(BLANK)}
    covered = np.zeros(made.region.nbytes, dtype=np.uint8)
    for start, nbytes in zip(table["target"].tolist(), table["nbytes"].tolist(), strict=True):
        covered[start - STAGE : start - STAGE + nbytes] += 1
    for buffer in made.plan.buffers:
        at = made.addresses[1][buffer.name] - STAGE
        assert covered[at : at + buffer.nbytes].all()
    for start, nbytes in made.unused((1,)):
        covered[start - STAGE : start - STAGE + nbytes] += 1
    assert (covered == 1).all()


class CountingDriver:
    """A driver on which everything succeeds at once, and which counts what is alive."""

    def __init__(self) -> None:
        self.alive = dict[str, int]()
        self._numbers = count(1 << 20, 1 << 20)

    def __getattr__(self, name: str) -> Any:
        def answer(*_: object) -> tuple[Any, ...]:
            for made, gone, kind in (
                ("cuEventCreate", "cuEventDestroy", "events"),
                ("cuMemAlloc", "cuMemFree", "allocations"),
            ):
                change = (name == made) - (name == gone)
                self.alive[kind] = self.alive.get(kind, 0) + change
            values = {"cuMemGetInfo": (1 << 30, 1 << 30), "cuEventElapsedTime": (0.1,)}
            return 0, *values.get(name, (next(self._numbers),))

        return answer


def test_a_measured_bandwidth_leaves_nothing_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = CountingDriver()
    monkeypatch.setattr(driver, "binding", lambda: fake)
    assert copy_bandwidth(driver.Stream(None)) > 0
    assert fake.alive == {"events": 0, "allocations": 0}
    assert np.isfinite(copy_bandwidth(driver.Stream(None)))
