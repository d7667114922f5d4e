"""What tests of drivers keep calls in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import Keeping


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    """A store of its own."""
    kept = Keeping(tmp_path)
    yield kept
    kept.store.close()
