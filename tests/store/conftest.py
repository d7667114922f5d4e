"""A store for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.store.store import STATE_FILE, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store lies."""
    return tmp_path / STATE_FILE


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An open one."""
    with Store.open(path) as opened:
        yield opened
