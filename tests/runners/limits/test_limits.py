"""The machine's peaks, as measured, and the work that a contract declares."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiers import further

from kernelwright.runners.errors import ExpressionError, SpecError, ToolchainMissing
from kernelwright.runners.limits import limits
from kernelwright.runners.limits.limits import (
    Peaks,
    Work,
    cache_bytes,
    measure_host,
    of_contract,
    share_of_others,
    work,
)
from kernelwright.runners.specs.io_contract import Contract


def contract(**declared: Any) -> Contract:
    output = {"name": "y", "role": "output", "dtype": "float32", "shape": ["N"]}
    return Contract.model_validate({"arguments": [output], **declared})


def show_cache(cpus: Path, core: int, index: int, **files: str) -> None:
    folder = cpus / f"cpu{core}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("peaks")


@pytest.fixture(scope="module")
def peaks(scratch: Path) -> Peaks:
    return measure_host(scratch)


@pytest.fixture(scope="module")
def small_readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("small")


@pytest.fixture
def small_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that ask nothing of the peaks: a whole reading takes a gigabyte and all cores,
    whose threads wait for each other where another program has one of them."""
    core = min(os.sched_getaffinity(0))

    def one_core(_: int) -> set[int]:
        return {core}

    monkeypatch.setattr(os, "sched_getaffinity", one_core)
    monkeypatch.setattr(limits, "SECONDS", 0.02)
    monkeypatch.setattr(limits, "MOST_BYTES", 1 << 22)


@further(
    "tests/runners/limits/test_limits.py::"
    "test_a_disturbed_peak_is_measured_anew_and_the_least_disturbed_counts",
    why="whole readings of a machine",
)
def test_measured_peaks_are_those_of_a_machine(peaks: Peaks) -> None:
    cores = len(os.sched_getaffinity(0))
    assert 1e8 < peaks.copy_bytes_per_s < 1e13
    # from one scalar operation in ten cycles to four 16-wide multiply-adds in one, at 1 to 6 GHz
    assert 1e8 < peaks.flops_per_s < cores * 4 * 16 * 2 * 6e9
    assert peaks.source == "measured"


def test_fp64_has_a_peak_of_its_own_for_contracts_of_doubles(peaks: Peaks) -> None:
    fp64 = peaks.fp64_flops_per_s
    # not held against the fp32 figure: each has its own moments, and other programs theirs
    assert fp64 is not None and 5e7 < fp64 < len(os.sched_getaffinity(0)) * 4 * 8 * 2 * 6e9
    assert fp64 != peaks.flops_per_s
    doubles = {"name": "x", "role": "input", "dtype": "float64", "shape": ["N"]}
    output = {"name": "y", "role": "output", "dtype": "float64", "shape": ["N"]}
    told = of_contract(peaks, Contract.model_validate({"arguments": [doubles, output]}))
    assert (told.flops_per_s, told.flops_unit) == (fp64, "fp64")
    assert of_contract(peaks, contract()) == peaks


def test_what_others_take_of_the_processors_is_told_from_idling_and_our_own_work() -> None:
    core = min(os.sched_getaffinity(0))
    before, after = {core: (10.0, 100.0)}, {core: (11.0, 110.0)}
    assert share_of_others(before, after, 9.0) == 0
    assert share_of_others(before, after, 4.0) == pytest.approx(0.5)
    assert share_of_others(before, {core: (20.0, 110.0)}, 0.0) == 0
    assert share_of_others({}, {}, 1.0) == 0, "where the system keeps no account"


def test_a_disturbed_peak_is_measured_anew_and_the_least_disturbed_counts(
    small_readings: Path, small_reading: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = [0.4, 0.2, 0.3, 0.0]

    def told(before: object, after: object, own_s: float) -> float:
        return shares.pop(0)

    monkeypatch.setattr(limits, "share_of_others", told)
    found = measure_host(small_readings)
    assert found.others == 0.2 and "other programs took 20%" in found.method
    assert "other programs" not in measure_host(small_readings).method
    assert not shares


def test_measured_peaks_say_where_and_how(peaks: Peaks) -> None:
    cores = len(os.sched_getaffinity(0))
    assert f"{cores} core" in peaks.device
    assert f"on {cores} thread" in peaks.method
    assert "read and written bytes counted" in peaks.method
    assert peaks.seconds > 0


def test_the_copy_is_several_times_larger_than_the_last_level_cache(peaks: Peaks) -> None:
    mebibytes = int(peaks.method.split("copies of ")[1].split(" MiB")[0])
    assert mebibytes << 20 > min(2 * (peaks.cache_bytes or 0), 1 << 29)


def test_the_program_is_compiled_once_and_nothing_else_is_left(
    small_readings: Path, small_reading: None
) -> None:
    def left() -> list[tuple[str, int]]:
        return [(p.name, p.stat().st_mtime_ns) for p in small_readings.iterdir()]

    first = measure_host(small_readings)
    before = left()
    assert measure_host(small_readings).device == first.device
    assert left() == before and len(before) == 1


def test_without_a_compiler_the_reader_learns_which_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainMissing, match=r"g\+\+ or clang\+\+"):
        measure_host(tmp_path)


def test_only_the_last_level_counts_and_a_shared_cache_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cores(_: int) -> set[int]:
        return {0, 1, 2}

    monkeypatch.setattr(os, "sched_getaffinity", cores)
    for core, shared_by in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3"), (4, "4-5")):
        show_cache(tmp_path, core, 2, level="2", shared_cpu_list=str(core), size="1024K")
        show_cache(tmp_path, core, 3, level="3", shared_cpu_list=shared_by, size="32768K")
    assert cache_bytes(tmp_path) == 2 * (32 << 20)


def test_a_cache_without_a_size_is_unknown(tmp_path: Path) -> None:
    for core in os.sched_getaffinity(0):
        show_cache(tmp_path, core, 0, level="3", shared_cpu_list="0")
    assert cache_bytes(tmp_path) is None


def test_work_is_the_declared_expressions_at_the_given_sizes() -> None:
    declared = contract(bytes="8 * N", flops="5 * N * log2(N)")
    assert work(declared, {"N": 16}) == Work(bytes=128, flops=320)


def test_undeclared_work_is_unknown_and_not_zero() -> None:
    assert work(contract(flops=0), {"N": 16}) == Work(bytes=None, flops=0)


@pytest.mark.parametrize("text", ["N - 17", "N * 1e308", "-0.5 * N"])
def test_work_that_no_kernel_can_have_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"io\.bytes"):
        work(contract(bytes=text), {"N": 16})


def test_work_over_an_unknown_size_is_refused() -> None:
    with pytest.raises(ExpressionError, match="M"):
        work(contract(flops="M"), {"N": 16})


IN_A_FULL_FOLDER = """\
mount -t tmpfs -o size=$2k none "$1" && exec "$3" -c '
import sys
from pathlib import Path
from kernelwright.runners.errors import NoRoom
from kernelwright.runners.limits.limits import measure_host
try:
    measure_host(Path(sys.argv[1]))
except NoRoom as error:
    print(error)
' "$1"
"""
"""Of a size in KiB that holds the log of a compiler and not what it writes, or not even a log."""


@pytest.mark.parametrize("kib", [4, 12, 48])
def test_a_full_disk_is_named_and_no_compiler_is_to_blame(tmp_path: Path, kib: int) -> None:
    inside = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec")
    if subprocess.run([*inside, f"mount -t tmpfs none {tmp_path}"], check=False).returncode:
        pytest.skip("no folder of a given size can be made here")
    words = [*inside, IN_A_FULL_FOLDER, "sh", str(tmp_path), str(kib), sys.executable]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert told.startswith("there is no room for the program that measures this machine: the disk ")
    assert f"the disk of {tmp_path} is full\nNext: free space there" in told
