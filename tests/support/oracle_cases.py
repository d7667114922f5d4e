"""Kernels with a reference and no need of a build, and outputs to be judged by an oracle."""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernelwright.runners.dtypes import numpy_dtype
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.oracle.arrays import NUMPY, ArrayLibrary
from kernelwright.runners.oracle.arrays_cupy import CupyArrays
from kernelwright.runners.oracle.arrays_torch import TorchArrays
from kernelwright.runners.oracle.inputs import pack
from kernelwright.runners.oracle.judge import Expected, expect
from kernelwright.runners.oracle.messages import JudgeOutputs, OutputVerdict
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.oracle.references import Reference
from kernelwright.runners.protocol.layout import record
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.spec import KernelSpec

Array = npt.NDArray[Any]
SHAPE = (4, 64)
ATTEMPTS = """
import errno, os, socket, subprocess
def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def attempts(outside):
    return {
        "tcp": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
        "udp": attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)),
        "shadow": attempt(lambda: open("/etc/shadow")),
        "outside": attempt(lambda: open(outside)),
        "write": attempt(lambda: open(outside, "w")),
        "environment": attempt(lambda: open(f"/proc/{os.getppid()}/environ", "rb").read()),
        "program": attempt(lambda: subprocess.run(["/bin/true"])),
        "signal": attempt(lambda: os.kill(os.getppid(), 0)),
    }
"""
"""Defines attempts(PATH): what came of each thing that a reference may not do."""
REFUSED = {
    "tcp": {"EPERM"},
    "udp": {"EPERM"},
    "shadow": {"EACCES"},
    "outside": {"EACCES"},
    "write": {"EACCES", "EPERM"},
    "environment": {"EACCES", "EPERM"},
    "program": {"EPERM", "EACCES"},
    "signal": {"EPERM"},
}


def kernel(
    reference: str | None,
    dtype: str = "float32",
    shape: tuple[int, ...] = SHAPE,
    **contract: Any,
) -> LoadedKernel:
    """y = f(x, a) on arrays of one shape; no reference: the baseline is the truth."""
    array = {"dtype": dtype, "shape": list(shape)}
    spec = KernelSpec.model_validate(
        {
            "name": "f",
            "kernel": {
                "kernel_type": "cpp",
                "source_code": "",
                "metadata": {"kernel_name": "f"},
            },
            "io": {
                "arguments": [
                    {"name": "x", "role": "input", **array},
                    {"name": "y", "role": "output", **array},
                    {"name": "a", "role": "scalar", "dtype": "float32", "value": 2.5},
                ],
                **contract,
            },
            "workloads": [{"name": "w", "symbols": {}}],
            "reference": "baseline" if reference is None else {"source_code": reference},
        }
    )
    return LoadedKernel(spec=spec, source="", source_name="f.cpp", reference=reference)


@cache
def library(name: str) -> ArrayLibrary:
    """numpy itself, numpy in cupy's place (bits and all), or torch on the host."""
    if name == "cupy":
        return CupyArrays(np, np.asarray, lambda: None)
    if name == "torch":
        if importlib.util.find_spec("torch") is None:
            pytest.skip("torch is not installed")
        return TorchArrays(importlib.import_module("torch"), "cpu")
    return NUMPY


def truths(
    reference: Reference, contract: BoundContract, inputs: dict[str, Array]
) -> list[Expected]:
    """What a judge of the reference's own library makes of its outputs."""
    exact, native = reference.outputs(contract, inputs)
    return [
        expect(reference.library, bound, e, n, contract.error_floor(bound))
        for bound, e, n in zip(contract.outputs, exact, native, strict=True)
    ]


@dataclass(frozen=True)
class Opened:
    """A kernel that an oracle has open, with a pool of its inputs."""

    oracle: Oracle
    pool: SeedPool
    inputs: tuple[Array, ...]

    @property
    def where(self) -> str:
        """Where its truth is computed."""
        return self.oracle.where(self.pool.kernel)

    def judge(self, outputs: dict[int, Array], *, adopt: bool = False) -> list[OutputVerdict]:
        """The verdict on one output for each slot."""
        outs = self.pool.contract.outputs
        nbytes, dtype = record(outs).nbytes, numpy_dtype(outs[0].argument.dtype)
        data = np.zeros(nbytes * len(outputs), dtype=np.uint8)
        for place, values in enumerate(outputs.values()):
            with np.errstate(all="ignore"):
                start = place * nbytes
                pack(outs[0], values.astype(dtype), data[start : start + outs[0].nbytes])
        fd = os.memfd_create("outputs")
        try:
            os.write(fd, data.tobytes())
            message = JudgeOutputs(
                pool=self.pool.pool,
                slots=tuple(outputs),
                places=tuple(range(len(outputs))),
                adopt=adopt,
            )
            return [verdict for (verdict,) in self.oracle.judge(message, fd)]
        finally:
            os.close(fd)


def opened(oracle: Oracle, loaded: LoadedKernel, seeds: tuple[int, ...] = (1, 2)) -> Opened:
    """Open a kernel and read the inputs that the oracle made for it, in double precision."""
    oracle.open(loaded)
    contract = bind(loaded.spec.io, {}, "w")
    pool = SeedPool(f"{loaded.kernel_id}/w", loaded.kernel_id, contract, seeds, public=True)
    fd = oracle.make_pool(pool)
    try:
        data = os.pread(fd, record(contract.inputs).nbytes * len(seeds), 0)
    finally:
        os.close(fd)
    (bound,), size = contract.inputs, record(contract.inputs).nbytes
    records = [data[i * size : i * size + bound.nbytes] for i in range(len(seeds))]
    dtype = numpy_dtype(bound.argument.dtype)
    return Opened(
        oracle,
        pool,
        tuple(np.frombuffer(r, dtype).reshape(bound.shape).astype(np.float64) for r in records),
    )
