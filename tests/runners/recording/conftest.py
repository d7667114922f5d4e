"""The pretended program, and a recording of it that tests of this folder look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pretend_program import PretendedProgram, recorded_once


@pytest.fixture
def recorded(program: PretendedProgram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A recording with every launch of its representative kernels kept."""
    yield recorded_once(program, tmp_path_factory)
