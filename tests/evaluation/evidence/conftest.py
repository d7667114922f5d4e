"""The bench of tests on evidence."""

from __future__ import annotations

import pytest

from kernelwright.search.session.workbench import Workbench


@pytest.fixture(scope="module")
def bench(bench_of_examples: Workbench) -> Workbench:
    """A workbench that may read the examples."""
    return bench_of_examples
