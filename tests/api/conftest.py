"""Host kernels are timed briefly."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def briefly(brief_timing: None) -> None:
    """What a program is told is the subject here, not how sure times are."""
