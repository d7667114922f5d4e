"""What tries the Triton that moves write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from triton_bench import TritonBench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, shared_builds: None) -> Iterator[TritonBench]:
    """Interpreter, oracle and builder, started once for all tests of a module."""
    with TritonBench.opened(tmp_path_factory.mktemp("triton-moves")) as made:
        yield made
