"""What tries the Triton that moves write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from triton_bench import TritonBench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonBench]:
    """Interpreter, oracle and builder, started once for all tests: each has torch to import."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("triton-moves")
        yield stack.enter_context(TritonBench.opened(folder))
