"""Where and with what a result was measured; every result file carries it."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
GPU_PACKAGES = ("cuda-bindings", "cupy-cuda12x", "cupy-cuda13x", "torch", "triton")


def environment() -> dict[str, Any]:
    """Machine, system, compiler and commit; where an NVIDIA driver is, what belongs to it too."""
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
        **_gpu(),
    }


def write(name: str, result: dict[str, Any], path: Path | None = None) -> Path:
    """Write a result with its environment; `path`: not to `benchmarks/results/<name>.json`. Files
    of this checkout are named from its root, wherever it lies."""
    path = path or RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": environment(), **result}
    text = json.dumps(content, indent=1).replace(f"{ROOT}/", "")
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _gpu() -> dict[str, Any]:
    """GPU, driver, CUDA compiler and libraries; empty where no NVIDIA driver answers."""
    asked = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, comma, driver = _first_line(*asked).rpartition(", ")
    if not comma:
        return {}
    compiler = _lines("nvcc", "--version")
    return {
        "gpu": name,
        "driver": driver,
        "cuda": next((s.split("release ")[1] for s in compiler if "release " in s), "no nvcc"),
        "packages": {p: v for p in GPU_PACKAGES if (v := _version(p)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _first_line(*command: str) -> str:
    return next(iter(_lines(*command)), "unknown")


def _lines(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        return []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()
