"""A runner of interpreted kernels and its oracle, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from interpreting import InterpreterBench

from kernelwright.runners.interpreter.runner import InterpreterRunner, interpreter_missing
from kernelwright.runners.oracle.oracle import Oracle


@pytest.fixture(scope="package")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InterpreterBench]:
    """Started once: candidates run in forks of their own."""
    if why := interpreter_missing():
        pytest.skip(f"no interpreter: {why}")
    folder = tmp_path_factory.mktemp("interpreter")
    made = InterpreterBench(InterpreterRunner(folder), Oracle(folder), folder)
    yield made
    made.runner.close()
    made.oracle.close()
