"""Captures for tests, made ahead of them."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from capture_forks import Forks


@pytest.fixture(scope="session")
def started_forks(tmp_path_factory: pytest.TempPathFactory) -> Generator[Forks]:
    """The process that captures, for all modules."""
    started = Forks.start(tmp_path_factory.mktemp("captures"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def forks(request: pytest.FixtureRequest, started_forks: Forks) -> Forks:
    """It has begun with every case that the module's tests name."""
    of_this_module = (item for item in request.session.items if item.path == request.path)
    values = (getattr(item, "callspec", None) for item in of_this_module)
    started_forks.ahead(v.params["path"] for v in values if v is not None and "path" in v.params)
    return started_forks
