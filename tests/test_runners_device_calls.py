"""In what order a runner asks things of the driver: nothing beside what is timed, and the next
sample's memory before the host reads of the last one. Counted on the pretended GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from device_kernels import RIGHT, Code, Gpu, gpu_of

LAUNCH, GRAPH, FETCH = "cuLaunchKernelEx", "cuGraphLaunch", "cuMemcpyDtoHAsync"
RECORD, UPLOAD = "cuEventRecord", "cuMemcpyHtoDAsync"
LET_GO = "cuCtxResetPersistingL2Cache"
SAMPLES = 4


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with gpu_of("pretended", tmp_path_factory.mktemp("gpu")) as found:
        yield found


@pytest.fixture(scope="module")
def calls(gpu: Gpu, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What `device_calls.py` noted, but for the questions whether a sample has ended."""
    script, folder = Path(__file__).with_name("device_calls.py"), tmp_path_factory.mktemp("calls")
    Code.of(RIGHT, folder, gpu.device.arch)  # which the script finds there
    command = [sys.executable, str(script), str(folder), gpu.device.arch]
    paths = [*os.environ.get("PYTHONPATH", "").split(":"), str(script.parent)]
    environment = {**os.environ, "PYTHONPATH": ":".join(filter(None, paths))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def samples(calls: list[str]) -> list[list[str]]:
    """The calls from each timed graph to the next one."""
    at = [number for number, name in enumerate(calls) if name == GRAPH]
    return [calls[a:b] for a, b in zip(at, [*at[1:], len(calls)], strict=True)]


def test_nothing_is_enqueued_behind_a_timed_graph_until_it_has_ended(calls: list[str]) -> None:
    for sample in samples(calls):
        assert sample[:3] == [GRAPH, RECORD, "cuEventQuery"]
        ended = next(n for n, name in enumerate(sample[2:], 2) if name != "cuEventQuery")
        assert "cuEventQuery" not in sample[ended:]


def test_sets_of_the_next_sample_are_made_as_new_before_findings_are_fetched(
    calls: list[str],
) -> None:
    *followed, last = [sample[: sample.index(FETCH)] for sample in samples(calls)]
    assert [Counter(each)[UPLOAD] for each in followed] == [2] * (SAMPLES - 1)
    assert Counter(last)[UPLOAD] == 1


def test_lines_of_l2_are_let_go_once_for_each_sample_and_before_caches_are_flushed(
    calls: list[str],
) -> None:
    *followed, last = samples(calls)
    for sample in followed:
        assert sample.count(LET_GO) == 1
        assert sample.index(LET_GO) < sample.index(FETCH)
    assert LET_GO not in last


def test_a_sample_costs_so_many_calls(calls: list[str]) -> None:
    found = Counter(calls)
    assert found[GRAPH] == found[FETCH] == SAMPLES
    assert found[LAUNCH] == 9 * SAMPLES
    assert not found["cuMemGetInfo"]
    assert not found["cuCtxSynchronize"]
    assert sum(found.values()) - found["cuEventQuery"] <= 33 * SAMPLES
