"""What bounds a kernel's speedup, and when the machine is asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelwright.evaluation.evidence.headroom import most_speedup
from kernelwright.evaluation.rig import gpus
from kernelwright.runners.device.presence.probing import Probed
from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.records import KernelRecord

SOURCE = """extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}"""


def opened(**declared: Any) -> KernelRecord:
    """A CUDA kernel for an H100 that took a millisecond, with what is declared of its work."""
    arguments = [
        {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
        {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
        {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
    ]
    spec = {
        "name": "scale",
        "kernel": {"kernel_type": "cuda", "source_code": SOURCE}
        | {"metadata": {"kernel_name": "scale"}, "launch": {"grid": ["n"], "block": [128]}},
        "io": {"arguments": arguments} | declared,
        "symbols": {"n": {"max": 1 << 20}},
        "workloads": [{"name": "w", "symbols": {"n": 1 << 20}}],
        "device_profile": {"gpu_name": "H100", "arch": "sm_90"},
        "reference": "baseline",
    }
    loaded = load_data(spec, Path("/"), Roots([]))
    return KernelRecord(
        kernel_id="k",
        loaded=loaded,
        odd_symbols=None,
        baseline="v",
        incumbent="v",
        baseline_ms={"w": 1.0},
        opened_at="2000-01-01T00:00:00+00:00",
    )


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Each time that the machine's GPUs are looked for."""
    asked = list[Path]()

    def probe(scratch: Path) -> Probed:
        asked.append(scratch)
        return Probed(why_none="none is here")

    monkeypatch.setattr(gpus, "probe_devices", probe)
    return asked


def test_declared_work_bounds_the_speedup(tmp_path: Path, looks: list[Path]) -> None:
    with Workbench(tmp_path, [tmp_path]) as bench:
        most = most_speedup(bench, opened(bytes="8 * n"))
    assert most is not None and 100 < most < 1000
    assert looks


def test_without_declared_work_no_gpu_is_looked_for(tmp_path: Path, looks: list[Path]) -> None:
    with Workbench(tmp_path, [tmp_path]) as bench:
        assert most_speedup(bench, opened()) is None
    assert not looks
