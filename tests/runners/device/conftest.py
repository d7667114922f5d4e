"""A GPU, real or pretended, and a device runner on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from device_kernels import GPUS, DeviceBench, Gpu, gpu_of


@pytest.fixture(scope="module", params=GPUS)
def gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    """A GPU of each kind that is here."""
    with gpu_of(request.param, tmp_path_factory.mktemp("gpu")) as found:
        yield found


@pytest.fixture(scope="module")
def bench(gpu: Gpu, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceBench]:
    """A device runner on it, with one pool of inputs."""
    made = DeviceBench.of(gpu.device, tmp_path_factory.mktemp("runner"), twins=gpu.twins)
    yield made
    made.runner.close()
