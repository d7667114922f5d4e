"""What tests cost: `pytest -p cpu_report --cpu-report FILE` writes the CPU seconds of each file of
tests and of each test, of the process they run in and of the children it waited for, costliest
first. CPU time tells a costly test on a busy machine too, wall time does not."""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest


def cpu_seconds() -> float:
    """CPU seconds, user's and system's, of this process and of the children it has reaped, with
    those that they have reaped."""
    uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


class CpuReport:
    """Takes the CPU seconds of each phase of a test where it runs, and writes their sums where the
    reports of all workers come together. A fixture's are its first test's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counted_until = cpu_seconds()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
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
