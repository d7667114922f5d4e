"""A machine with several GPUs: kernels are spread over those that may be used."""

from __future__ import annotations

from pathlib import Path

import gpu_lift
import pytest

from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.errors import SpecError
from kernelwright.runners.model import Ending
from kernelwright.search.session.workbench import Workbench

pytestmark = pytest.mark.gpu


@pytest.fixture
def uuids(tmp_path: Path) -> list[str]:
    probed = probe_devices(tmp_path / "probe")
    if len(probed.devices) < 2:
        pytest.skip(f"fewer than two GPUs here {probed.why_none}".strip())
    return [str(device.uuid) for device in probed.devices]


def test_two_kernels_work_on_two_gpus(tmp_path: Path, uuids: list[str]) -> None:
    with Workbench(tmp_path / "out", [tmp_path], ("0", "1")) as bench:
        used = set[str]()
        for name in ("first", "second"):
            loaded = gpu_lift.load(tmp_path, name=name)
            record = bench.evaluator.open(loaded)
            target = bench.gpus.target(loaded)
            assert target is not None and target.uuid is not None
            used.add(target.uuid)
            faster = gpu_lift.candidate(bench, record.kernel_id, parameters={"REPEAT": 1})
            assert bench.evaluator.evaluate(faster).ending is Ending.faster
        assert used == set(uuids[:2])


def test_only_the_gpus_that_were_named_are_used(tmp_path: Path, uuids: list[str]) -> None:
    with Workbench(tmp_path / "out", [tmp_path], ("1",)) as bench:
        loaded = gpu_lift.load(tmp_path)
        bench.evaluator.open(loaded)
        target = bench.gpus.target(loaded)
        assert target is not None and target.uuid == uuids[1]


def test_a_gpu_that_is_not_here_is_refused_by_name(tmp_path: Path, uuids: list[str]) -> None:
    with Workbench(tmp_path / "out", [tmp_path], ("77",)) as bench:
        with pytest.raises(SpecError, match="no GPU `77` here") as error:
            bench.evaluator.open(gpu_lift.load(tmp_path))
        assert uuids[0] in error.value.valid
