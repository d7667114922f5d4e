"""Where and with what a result was measured; every result file carries it."""

from __future__ import annotations

import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def environment() -> dict[str, Any]:
    """Machine, system, compiler and commit."""
    return {
        "cpu": _cpu(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "compiler": _first_line("g++", "--version"),
        "commit": _first_line("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
        "load_at_end": round(psutil.getloadavg()[0], 2),
        "date": datetime.now(UTC).date().isoformat(),
    }


def write(name: str, result: dict[str, Any]) -> Path:
    """Write a result with its environment as `benchmarks/results/<name>.json`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"environment": environment(), **result}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"
