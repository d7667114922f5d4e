"""A project for the tests of the server."""

from __future__ import annotations

import pytest
from server_talk import Place, place_in


@pytest.fixture(scope="module", autouse=True)
def briefly(brief_timing: None) -> None:
    """What the server says of times is its subject here, not how sure they are."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A folder with a small kernel, and the server's settings for it."""
    return place_in(tmp_path_factory.mktemp("project"))
