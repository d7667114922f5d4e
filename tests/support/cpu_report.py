"""What tests cost: `pytest -p cpu_report --cpu-report FILE` writes the CPU seconds of each file of
tests and of each test, of the process they run in and of all that descends from it, costliest
first. CPU time tells a costly test on a busy machine too, wall time does not."""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """CPU seconds, user's and system's, of this process, of the children it has reaped, with those
    that they have reaped, and of all descendants that still run.

    Runners and zygotes outlive the test that starts them: what they do for a test is this test's,
    not that of the one at whose end they are waited for.
    """
    uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses) + _of_descendants(os.getpid())


def _of_descendants(pid: int) -> float:
    """CPU seconds of the descendants of a process that are still there, with their reaped ones."""
    seconds = 0.0
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has ended meanwhile
            for child in children.read_text().split():
                seconds += _of_process(child) + _of_descendants(int(child))
    return seconds


def _of_process(pid: str) -> float:
    """proc_pid_stat(5): fields 14 to 17, behind the name in parentheses, are utime, stime, cutime
    and cstime."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


class CpuReport:
    """Takes the CPU seconds of each test where it runs, and writes their sums where the reports of
    all workers come together. A fixture's are its first test's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counted_until = cpu_seconds()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_collection_finish(self) -> None:
        self.counted_until = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        if report.when != "teardown":
            return report
        now = cpu_seconds()
        report.cpu_seconds = now - self.counted_until
        self.counted_until = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += getattr(report, "cpu_seconds", 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        files = defaultdict[str, float](float)
        for test, seconds in self.seconds.items():
            files[test.partition("::")[0]] += seconds
        rows = [("all", sum(files.values())), *_costliest(files), *_costliest(self.seconds)]
        self.path.write_text("".join(f"{seconds:9.2f}  {name}\n" for name, seconds in rows))


def _costliest(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: -each[1])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-report", type=Path, metavar="FILE", help="what each test costs")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--cpu-report")
    if path is not None:
        config.pluginmanager.register(CpuReport(path))
