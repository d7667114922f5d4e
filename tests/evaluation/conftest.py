"""A kernel for the tests of evaluations."""

from __future__ import annotations

import lift
import pytest

from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.search.session.workbench import Workbench


@pytest.fixture(scope="module", autouse=True)
def briefly(brief_timing: None) -> None:
    """How surely times tell kernels apart is asked of comparisons, in `tests/runners`."""


@pytest.fixture(scope="module")
def kernel(bench: Workbench) -> LoadedKernel:
    """The kernel `lift`, open on the bench."""
    loaded = lift.load(bench.outdir.parent)
    bench.evaluator.open(loaded)
    return loaded
