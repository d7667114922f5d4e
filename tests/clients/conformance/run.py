"""The protocol's conformance suite against the real server.

Run: `python tests/clients/conformance/run.py`.

Both sets of requirements run twice: against the product as it is, and in `--conformance` mode,
where the suite's fixtures stand beside the product's own tools (`server.py`). What fails in the
first alone is the lack of a fixture; what fails in the second is ours, and ends this with 1.
Needs `npm` (a network once). Writes `benchmarks/results/mcp_conformance.json`. pytest does not
collect it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from environment import write

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
INSTALLED = CACHE / "kernelwright" / "test-conformance"
SUITE = Path("node_modules/@modelcontextprotocol/conformance")
REVISIONS = ("2026-07-28", "2025-11-25")
MODES = ("as it is", "--conformance")
LIMIT_S = 300.0
FOLDER = re.compile(r"server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z")
FAILED = ("FAILURE", "WARNING")


@dataclass(frozen=True)
class Failed:
    """A check that did not hold."""

    scenario: str
    check: str
    status: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """One set of requirements against one mode."""

    revision: str
    mode: str
    required: dict[str, int]
    """checks of scenarios that the revision requires, by status"""
    not_scored: dict[str, int]
    """of scenarios that are run and never counted: extensions, and what came later"""
    failed: list[Failed]
    """of the required ones"""
    not_scored_failing: list[str]

    @property
    def line(self) -> str:
        """A row of the table."""
        done, lost = (self.required.get(each, 0) for each in ("SUCCESS", "FAILURE"))
        share = f"{100 * done / max(1, done + lost):.1f} %"
        beside = ", ".join(self.not_scored_failing) or "none"
        return (
            f"{self.revision}  {self.mode:14} required {done}/{done + lost} ({share})  "
            f"not scored and failing: {beside}"
        )


def main() -> int:
    """Run all four, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--node-folder", type=Path, default=INSTALLED)
    parser.add_argument("--output", type=Path, help="in place of benchmarks/results")
    asked = parser.parse_args()
    folder, environment = installed(asked.node_folder)
    outcomes: list[Outcome] = []
    for mode in MODES:
        for revision in REVISIONS:
            outcomes.append(measured(folder, environment, revision, mode))
            print(outcomes[-1].line, flush=True)
            for each in outcomes[-1].failed:
                print(f"    {each.status} {each.scenario} {each.check}: {each.message[:160]}")
    kept = {"suite": version(folder), "outcomes": [asdict(each) for each in outcomes]}
    print(f"written: {write('mcp_conformance', kept, asked.output)}")
    return 1 if any(each.failed for each in outcomes if each.mode == MODES[1]) else 0


def installed(folder: Path) -> tuple[Path, Mapping[str, str]]:
    """Put the suite into the folder; an environment with its Node in front."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted, there = HERE / "package.json", folder / "package.json"
    if not there.exists() or there.read_bytes() != wanted.read_bytes():
        shutil.copy(wanted, there)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    path = os.pathsep.join([str(folder / "node_modules" / ".bin"), os.environ["PATH"]])
    return folder, {**os.environ, "PATH": path}


def version(folder: Path) -> str:
    """Of the suite."""
    package = json.loads((folder / SUITE / "package.json").read_text(encoding="utf-8"))
    return f"{package['name']} {package['version']}"


def measured(folder: Path, environment: Mapping[str, str], revision: str, mode: str) -> Outcome:
    """What the suite finds. Raises RuntimeError where it found nothing at all."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-conformance-") as made:
        state, found = Path(made) / "state", Path(made) / "found"
        state.mkdir()
        with served(state, () if mode == MODES[0] else (mode,)) as url:
            command = ["node", str(folder / SUITE / "dist" / "index.js"), "server", "--url", url]
            command += ["--requirements", revision, "--output-dir", str(found)]
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                stdin=subprocess.DEVNULL,
            )
        checks = checks_in(found)
    if not checks:
        raise RuntimeError(f"the suite ended with {done.returncode}: {done.stderr[-2000:]}")
    return outcome(revision, mode, checks, unscored(done.stdout))


def checks_in(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Every check with its scenario; a folder of the suite is `server-SCENARIO-DATE`."""
    found: list[tuple[str, dict[str, Any]]] = []
    for path in sorted(folder.glob("*/checks.json")):
        name = FOLDER.fullmatch(path.parent.name)
        assert name is not None, path
        found += [(name.group(1), each) for each in json.loads(path.read_text(encoding="utf-8"))]
    return found


def unscored(said: str) -> dict[str, bool]:
    """Scenarios that the suite ran for visibility alone, and whether each failed."""
    _, _, listed = said.partition("Not scored for ")
    rows = [line.split() for line in listed.splitlines() if line.strip()[:1] in ("✓", "✗")]
    return {row[1]: row[0] == "✗" for row in rows}


def outcome(
    revision: str, mode: str, checks: Sequence[tuple[str, dict[str, Any]]], beside: dict[str, bool]
) -> Outcome:
    """The checks, counted."""
    required = [(name, each) for name, each in checks if name not in beside]
    failed = [
        Failed(name, each["id"], each["status"], each.get("errorMessage", ""))
        for name, each in required
        if each["status"] in FAILED
    ]
    return Outcome(
        revision,
        mode,
        dict(Counter(each["status"] for _, each in required)),
        dict(Counter(each["status"] for name, each in checks if name in beside)),
        failed,
        sorted(name for name, fails in beside.items() if fails),
    )


@contextmanager
def served(state: Path, flags: Sequence[str]) -> Generator[str]:
    """The URL of a server while it runs."""
    command = [sys.executable, str(HERE / "server.py"), "0", str(state), *flags]
    with (state / "said.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                log.seek(0)
                raise RuntimeError(f"the server did not start: {log.read()[-2000:]}")
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
