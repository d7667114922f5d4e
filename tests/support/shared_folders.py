"""Folders that all processes of a run of the tests share."""

from __future__ import annotations

import os

import pytest


def of_all_workers(tmp_path_factory: pytest.TempPathFactory, name: str) -> str:
    """A folder of this run of the tests, the same one for all processes that they run in."""
    own = tmp_path_factory.getbasetemp()
    return str((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name)
