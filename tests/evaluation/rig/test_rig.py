"""What a rig does on a GPU, it does alone there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import gpu_lift
import pytest

from kernelwright.evaluation.rig import rig as rig_module
from kernelwright.evaluation.rig.gpus import Gpus
from kernelwright.evaluation.rig.open_kernel import open_state
from kernelwright.evaluation.rig.rig import Rig
from kernelwright.runners.processes import locks
from kernelwright.runners.processes.locks import timing_lock
from kernelwright.runners.proxies.runner import RUNNERS
from kernelwright.runners.specs.devices import PROFILES

GPU = PROFILES[0][0].model_copy(update={"uuid": f"GPU-test-{os.getpid()}"})


class Untouched:
    """Runner and oracle that note what they were asked for."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def answer(*_: object, **__: object) -> Any:
            self.asked.append(name)
            return ([], os.memfd_create("none")) if name == "check" else None

        return answer


def test_checks_and_inputs_wait_while_another_process_times_on_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "lock_folder", lambda: tmp_path)
    both = Untouched()

    def made(*_: object) -> Untouched:
        return both

    monkeypatch.setitem(cast(dict[str, Any], RUNNERS), "device", made)
    monkeypatch.setattr(rig_module, "Oracle", made)
    kernel = open_state(gpu_lift.load(tmp_path), None, GPU)
    rig = Rig(tmp_path / "modules", tmp_path, Gpus(tmp_path))
    waits, seen = threading.Event(), list[str]()

    def waiting(text: str) -> None:
        seen.append(text)
        waits.set()

    monkeypatch.setattr(rig_module, "report", waiting)
    works: dict[str, Callable[[], object]] = {
        "open": lambda: rig.attach(kernel),
        "make_pool": lambda: rig.attach_pools(kernel, kernel.pools),
        "check": lambda: rig.run(kernel, "v", kernel.pools[0], (0,)),
    }
    for verb, work in works.items():
        waits.clear()
        both.asked.clear()
        with timing_lock(str(GPU.uuid)):
            worker = threading.Thread(target=work)
            worker.start()
            assert waits.wait(20)
            assert verb not in both.asked
        worker.join(20)
        assert verb in both.asked
    assert all("is timing on" in text for text in seen)
    rig.close()
