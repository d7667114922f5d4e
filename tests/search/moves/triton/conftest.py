"""What tries the Triton that moves write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from shared_folders import of_all_workers
from triton_bench import TritonBench

from kernelwright.runners.building.compile_cache import VARIABLE


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonBench]:
    """Interpreter, oracle and builder, started once for all tests: each has torch to import."""
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, of_all_workers(tmp_path_factory, "compile_cache"))
            folder = tmp_path_factory.mktemp("triton-moves")
            bench = stack.enter_context(TritonBench.opened(folder))
        yield bench
