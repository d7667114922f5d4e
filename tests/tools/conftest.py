"""The bench of tests of tools."""

from __future__ import annotations

import pytest

from kernelwright.search.session.workbench import Workbench


@pytest.fixture(scope="module", autouse=True)
def briefly(brief_timing: None) -> None:
    """What tools tell of times is the subject here, not how sure they are."""


@pytest.fixture(scope="module")
def bench(bench_of_examples: Workbench) -> Workbench:
    """A workbench that may read the examples."""
    return bench_of_examples
