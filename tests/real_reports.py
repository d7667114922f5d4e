"""Reports that ncu made on an H200, of the kernels of `planted_kernels` (reports/README.md)."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kernelwright.runners.profiling import readers
from kernelwright.runners.profiling.model import KernelProfile, Profile
from kernelwright.runners.profiling.reading import read_profile

FOLDER = Path(__file__).parent / "reports"
TWINS = ("faulty", "repaired")
needs_reader = pytest.mark.skipif(
    find_spec(readers.MODULE) is None,
    reason="nothing reads reports here: pip install 'kernelwright[ncu]'",
)


def report_of(rule: str, twin: str, folder: Path) -> Path:
    """One report, unpacked into a folder."""
    name = f"{rule}.{twin}.ncu-rep"
    report = folder / name
    report.write_bytes(gzip.decompress((FOLDER / f"{name}.gz").read_bytes()))
    return report


@cache
def real_profile(rule: str, twin: str) -> Profile:
    """What NVIDIA's module reads in one report."""
    with TemporaryDirectory() as folder:
        return read_profile(report_of(rule, twin, Path(folder)), Path(folder))


def real_launch(rule: str, twin: str) -> KernelProfile:
    """Its only launch."""
    (launch,) = real_profile(rule, twin).launches
    return launch
