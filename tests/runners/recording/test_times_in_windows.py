"""Times of kernels are taken in windows that are paid for, and told for what they are."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kernelwright.runners.recording.library import NATIVE, header_folder

CLOCK = r"""
#include <cstdio>
#include "sampling.h"
using namespace kernelwright;

// How many of the launches of `seconds` are timed, where `rate` of them come a second.
static double timed_share(double rate, double seconds) {
    Credit credit;
    double timed = 0;
    bool on = true;
    for (int tick = 0; tick < seconds * 100; ++tick) {
        double now = on ? rate / 100 : 0;
        timed += now;
        on = credit.spend(0.01, now, on, false);
    }
    return timed / (rate * seconds);
}

int main() {
    printf("%g %g %g\n", timed_share(2000, 100), timed_share(28000, 100), timed_share(300000, 100));
    Credit spent;
    spent.spend(0.01, 1e6, true, false);
    printf("%d %d\n", spent.spend(0.01, 0, false, false), spent.spend(0.01, 0, false, true));
    Timeline line;
    line.looking_since = 1;
    line.add(1000, 3000000);          // bins of a millisecond
    line.looked_until(3000000);
    line.looking_since = 0;
    line.looked_until(5000000);       // nobody looked
    line.add(500000000, 500001000);   // bins of four
    u64 looked = 0;
    for (u64 each : line.looked) looked += each;
    printf("%llu %llu %llu\n", line.width, looked, line.looked[0]);
}
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[list[float]]:
    """What the recorder's own rules say, compiled as they are."""
    folder = tmp_path_factory.mktemp("windows")
    (folder / "clock.cpp").write_text(CLOCK)
    compiler = shutil.which("g++") or "clang++"
    command = [compiler, "-std=c++17", f"-I{NATIVE}", f"-I{header_folder()}", "clock.cpp", "-ldl"]
    subprocess.run([*command, "-o", "clock"], cwd=folder, check=True, timeout=120)
    done = subprocess.run(
        [folder / "clock"], capture_output=True, text=True, check=True, timeout=20
    )
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_the_faster_launches_come_the_fewer_of_them_are_timed(told: list[list[float]]) -> None:
    slow, fast, fastest = told[0]
    assert slow == 1
    assert fast < 0.15  # 2500 of 28000 a second, and the first ones
    assert fastest * 300_000 < 1.2 * 2500 + 4096


def test_a_configuration_without_a_time_is_timed_whatever_was_spent(
    told: list[list[float]],
) -> None:
    assert told[1] == [0, 1]


def test_stretches_in_which_nobody_looked_are_not_taken_for_idle_ones(
    told: list[list[float]],
) -> None:
    width, looked, first = told[2]
    assert (width, looked, first) == (4_000_000, 2_999_000, 2_999_000)
