"""Captures for tests, made ahead of them."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from capture_forks import Forks


@pytest.fixture(scope="module")
def forks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Forks]:
    """The process that captures; it has begun with every case that the module's tests name."""
    started = Forks.start(tmp_path_factory.mktemp("captures"))
    of_this_module = (item for item in request.session.items if item.path == request.path)
    values = (getattr(item, "callspec", None) for item in of_this_module)
    started.ahead(v.params["path"] for v in values if v is not None and "path" in v.params)
    yield started
    started.stop()
