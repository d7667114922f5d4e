"""Small CUDA kernels with hand-written plans, and a runner that tries them on any GPU."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pretend_gpu import Twins, pretended_gpu

from kernelwright.runners.device.presence.probing import Probed, probe_devices
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.protocol.layout import record
from kernelwright.runners.protocol.messages import Block, BlockResult, Check, Placement, RunResult
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.proxies.runner import DeviceRunner
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.specs.io_contract import Contract
from kernelwright.runners.toolchains.compilers.nvrtc import room

Floats = npt.NDArray[np.float32]

N = 5000
THREADS = 256
CONTRACT: dict[str, Any] = {
    "arguments": [
        {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
        {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
        {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
    ]
}
HEAD = 'extern "C" __global__ void twice(float* x, float* y, int n) {\n'
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
RIGHT = HEAD + INDEX + "    if (i < n) y[i] = 2 * x[i];\n}\n"


def pointer(arg: str, buffer: str | None = None, offset: int = 0) -> dict[str, Any]:
    """A pointer parameter; to the buffer of the same name unless another is given."""
    return {"arg": arg, "type": "ptr", "buffer": buffer or arg, "offset": offset}


def integer(arg: str, value: int) -> dict[str, Any]:
    """An int32 parameter."""
    raw = np.int32(value).tobytes().hex()
    return {"arg": arg, "type": "int32", "value": value, "raw": raw}


def launch(kernel: str, grid: int, *params: dict[str, Any]) -> dict[str, Any]:
    """A launch on a grid of one dimension."""
    return {"launch": kernel, "grid": [grid, 1, 1], "params": list(params)}


GPUS = (pytest.param("real", marks=pytest.mark.gpu), "pretended")
"""parameters of a fixture that gives `gpu_of` to tests"""


@dataclass(frozen=True)
class Gpu:
    """A GPU to try kernels on; `twins`: of a pretended one."""

    device: DeviceFacts
    twins: Twins | None = None


@contextmanager
def gpu_of(kind: str, folder: Path) -> Generator[Gpu]:
    """A `real` or `pretended` GPU; skips the test where there is none."""
    if kind == "pretended":
        with pretended_gpu(folder) as made:
            yield Gpu(made.device, made.twins)
        return
    probed = _probed(folder.parent)
    if not probed.devices:
        pytest.skip(f"no GPU: {probed.why_none}")
    yield Gpu(probed.devices[0])


@cache
def _probed(folder: Path) -> Probed:
    """What the machine has stays the same while tests run. `folder`: that of all their folders."""
    return probe_devices(folder / "probe")


@dataclass(frozen=True)
class Code:
    """A cubin on disk."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, source: str, folder: Path, arch: str) -> Code:
        """Compile with NVRTC."""
        name = hashlib.sha256(source.encode()).hexdigest()[:12]
        cubin = folder / f"{name}.{arch}.cubin"
        if not cubin.exists():
            cubin.write_bytes(compiled(source, arch))
        return cls(cubin, hashlib.sha256(cubin.read_bytes()).hexdigest())


def compiled(source: str, arch: str) -> bytes:
    """The cubin of a source. Raises ValueError with the log of NVRTC."""
    return built(source, arch)[0]


def built(source: str, arch: str) -> tuple[bytes, str]:
    """(the cubin, the PTX that it was assembled from). Raises ValueError with the log of NVRTC."""
    nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, None, None)
    options = [f"--gpu-architecture={arch}".encode(), b"-lineinfo"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status):
        log = room(nvrtc.nvrtcGetProgramLogSize(program)[1])
        nvrtc.nvrtcGetProgramLog(program, log)
        raise ValueError(log.rstrip(b"\0").decode())
    size, length = nvrtc.nvrtcGetCUBINSize(program)[1], nvrtc.nvrtcGetPTXSize(program)[1]
    cubin, ptx = room(size), room(length)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcGetPTX(program, ptx)
    return cubin[:size], ptx[:length].rstrip(b"\0").decode()


def plan_of(code: Code, bound: BoundContract, **changes: Any) -> LaunchPlan:
    """The plan of `twice`, or of what `changes` make of it.

    `kernels` maps ids to fields beside id and entry; `scratch` lists (name, nbytes).
    """
    kernels: Mapping[str, dict[str, Any]] = changes.get("kernels", {"twice": {}})
    buffers = [
        {"name": a.name, "role": "argument", "nbytes": a.nbytes, "align": a.argument.align}
        for a in bound.arrays
    ]
    for name, nbytes in changes.get("scratch", ()):
        buffers.append({"name": name, "role": "scratch", "nbytes": nbytes, "align": 256})
    n = bound.symbols["n"]
    steps = [launch("twice", -(-n // THREADS), pointer("x"), pointer("y"), integer("n", n))]
    outputs = [
        {
            "name": a.name,
            "buffer": a.name,
            "dtype": a.argument.dtype,
            "shape": a.shape,
            "strides": a.strides,
        }
        for a in bound.outputs
    ]
    return LaunchPlan.model_validate(
        {
            "label": bound.label,
            "kernels": [
                {"id": name, "entry": name, "sha256": code.sha256, "block": [THREADS, 1, 1], **more}
                for name, more in kernels.items()
            ],
            "buffers": [*buffers, *changes.get("buffers", ())],
            "setup": changes.get("setup", ()),
            "steps": changes.get("steps", steps),
            "outputs": changes.get("outputs", outputs),
        }
    )


@dataclass
class DeviceBench:
    """One runner with one pool of inputs."""

    runner: DeviceRunner
    folder: Path
    arch: str
    bound: BoundContract
    twins: Twins | None = None
    inputs: list[dict[str, npt.NDArray[Any]]] = field(
        default_factory=list[dict[str, npt.NDArray[Any]]]
    )

    @classmethod
    def of(
        cls,
        device: DeviceFacts,
        folder: Path,
        contract: dict[str, Any] = CONTRACT,
        symbols: dict[str, int] | None = None,
        slots: int = 4,
        twins: Twins | None = None,
    ) -> DeviceBench:
        """A runner of its own, with random inputs."""
        parsed = Contract.model_validate(contract)
        bench = cls(
            DeviceRunner(folder, device),
            folder,
            device.arch,
            bind(parsed, symbols or {"n": N}, "w"),
            twins,
        )
        pool = SeedPool("k/w", "k", bench.bound, tuple(range(slots)))
        bench.runner.attach(pool, parsed, bench.inputs_file(slots))
        return bench

    def inputs_file(self, slots: int) -> int:
        """A descriptor with random inputs of so many slots, as an oracle would make them."""
        layout, rng = record(self.bound.inputs), np.random.default_rng(7)
        memory = np.zeros(layout.nbytes * slots, dtype=np.uint8)
        for slot in range(slots):
            arrays = dict[str, npt.NDArray[Any]]()
            for place in layout.slots:
                values = rng.standard_normal(place.nbytes // 4).astype(np.float32)
                start = slot * layout.nbytes + place.offset
                memory[start : start + place.nbytes] = values.view(np.uint8)
                arrays[place.name] = values
            self.inputs.append(arrays)
        fd = os.memfd_create("inputs")
        os.ftruncate(fd, memory.size)
        written = 0
        while written < memory.size:
            written += os.pwrite(fd, memory[written:].data, written)
        return fd

    def load(self, variant: str, source: str, **changes: Any) -> None:
        """Compile a source and load it as a variant."""
        code = Code.of(source, self.folder, self.arch)
        if self.twins is not None:
            self.twins.make(code.path.read_bytes(), source)
        plan = plan_of(code, self.bound, **changes)
        files = {code.sha256: code.path, **changes.get("files", {})}
        self.runner.load(variant, files, (plan,))

    def check(
        self,
        variant: str,
        slots: Sequence[int] = (0, 1),
        *,
        timeout_s: float = 20.0,
        placement: Placement = "pages",
    ) -> tuple[list[RunResult], list[Floats]]:
        """Results, and the outputs that came along (as one row of floats each)."""
        message = Check(
            variant=variant,
            pool="k/w",
            slots=tuple(slots),
            poisons=tuple((0xFF, 0xA5)[i % 2] for i in range(len(slots))),
            placement=placement,
            timeout_s=timeout_s,
        )
        results, fd = self.runner.check(message)
        return results, self._rows(fd)

    def block(
        self,
        rounds: Sequence[Sequence[str]],
        calls: dict[str, int] | None = None,
        known: dict[str, tuple[str, ...]] | None = None,
        **more: Any,
    ) -> tuple[BlockResult, list[Floats]]:
        """A block's result and the outputs that came along; `more`: fields of the message."""
        message = Block(
            pool="k/w",
            rounds=tuple(tuple(r) for r in rounds),
            calls=calls or {},
            poison=0xFF,
            timeout_s=20.0,
            known=known or {},
            **more,
        )
        result, fd = self.runner.block(message)
        return result, self._rows(fd)

    def _rows(self, fd: int) -> list[Floats]:
        size, each = os.fstat(fd).st_size, record(self.bound.outputs).nbytes
        data = os.pread(fd, size, 0)
        os.close(fd)
        return [
            np.frombuffer(data[at : at + each], dtype=np.float32) for at in range(0, size, each)
        ]

    def works(self) -> bool:
        """Whether the runner gives right results (now, after whatever happened before)."""
        self.load("right", RIGHT)
        results, rows = self.check("right")
        return is_twice(self, results, rows)


def is_twice(bench: DeviceBench, results: Sequence[RunResult], rows: Sequence[Floats]) -> bool:
    """Whether every run was clean and every output is twice its input."""
    clean = all(not (r.fault or r.overrun or r.changed_inputs or r.touched_gaps) for r in results)
    placed = [(r.slot, r.stored) for r in results if r.stored is not None]
    n = bench.bound.symbols["n"]
    right = [np.array_equal(rows[at][:n], 2 * bench.inputs[slot]["x"][:n]) for slot, at in placed]
    return clean and bool(right) and all(right)
