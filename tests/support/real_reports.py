"""Reports that ncu made on an H200 (reports/README.md): of the kernels of `planted_kernels`, and of
six known kernels with the code that the driver was given."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kernelwright.analysis.rules.facts import facts_of
from kernelwright.analysis.rules.model import Facts
from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.profiling import readers
from kernelwright.runners.profiling.model import KernelProfile, Profile
from kernelwright.runners.profiling.reading import read_profile

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parents[1] / "reports"
TWINS = ("faulty", "repaired")
GEMM = "benchmarks/kernels/gemm/cuda_fp16.json"
KNOWN = {
    "triton_matmul": ("examples/triton_matmul/spec.json", "square"),
    "cuda_histogram": ("examples/cuda_histogram/spec.json", "large"),
    "hgemm_wgmma": (GEMM, "main"),
    "triton_softmax": ("examples/triton_softmax/spec.json", "long_rows"),
    "cuda_sgemm": ("examples/cuda_sgemm/spec.json", "square"),
    "gemm_cuda_fp16": (GEMM, "main"),
}
"""by name in benchmarks/instruments.py: whose contract it has, and which workload was counted"""
needs_reader = pytest.mark.skipif(
    find_spec(readers.MODULE) is None,
    reason="nothing reads reports here: pip install 'kernelwright[ncu]'",
)


def unpacked(name: str) -> bytes:
    """A file of the folder of reports, by its name without `.gz`."""
    return gzip.decompress((FOLDER / f"{name}.gz").read_bytes())


def report_of(rule: str, twin: str, folder: Path) -> Path:
    """One report of a planted kernel, unpacked into a folder."""
    report = folder / f"{rule}.{twin}.ncu-rep"
    report.write_bytes(unpacked(report.name))
    return report


@cache
def real_profile(rule: str, twin: str) -> Profile:
    """What NVIDIA's module reads in one report of a planted kernel."""
    with TemporaryDirectory() as folder:
        return read_profile(report_of(rule, twin, Path(folder)), Path(folder))


def real_launch(rule: str, twin: str) -> KernelProfile:
    """Its only launch."""
    (launch,) = real_profile(rule, twin).launches
    return launch


@cache
def known_profile(kernel: str) -> Profile:
    """What it reads in the report of a kernel of `KNOWN`; one launch."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / f"{kernel}.ncu-rep"
        report.write_bytes(unpacked(report.name))
        return read_profile(report, Path(folder))


def known_code(kernel: str) -> tuple[str, bytes]:
    """(PTX, cubin) of that launch, as the driver was given it."""
    return unpacked(f"{kernel}.ptx").decode(), unpacked(f"{kernel}.cubin")


@cache
def known_facts(kernel: str) -> Facts:
    """What its contract says of the workload that was counted."""
    path, workload = KNOWN[kernel]
    spec = parse_spec(json.loads((ROOT / path).read_text(encoding="utf-8")))
    return facts_of(spec.io, next(w.symbols for w in spec.workloads if w.name == workload))
