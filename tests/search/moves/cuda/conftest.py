"""What runs the CUDA that moves write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cuda_moves import PretendedLab
from pretend_gpu import pretended_gpu


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendedLab]:
    """A pretended GPU and a runner on it."""
    folder = tmp_path_factory.mktemp("gpu")
    with pretended_gpu(folder) as gpu:
        opened = PretendedLab(gpu, folder / "runs")
        yield opened
        opened.close()
