"""Parts of a benchmark, each in a process of its own that is ended at its limit: what a part had
found stays, in a file that grows step by step."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.runners.whole_files import write_whole


class Stopped(Exception):
    """A step failed, and what comes after it has nothing to work on."""


class Facts:
    """What a part has found, in a file as soon as it is known."""

    def __init__(self, file: Path) -> None:
        self.file, self.content = file, dict[str, Any]()

    def step(self, name: str, made: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
        """Do a step; what it returns is told with its seconds. Raises Stopped where it fails."""
        start = time.monotonic()
        print(f"  {name}", flush=True)
        try:
            told = made() or {}
        except Exception as error:  # whatever a machine that was never seen brings
            told = {"failed": f"{type(error).__name__}: {error}"[:2000]}
        self.content[name] = {"seconds": round(time.monotonic() - start, 1), **told}
        write_whole(self.file, json.dumps(self.content, indent=1) + "\n")
        if "failed" in told:
            print(f"  {name} FAILED: {told['failed']}", flush=True)
            raise Stopped(name)
        return told


def gpus() -> int:
    """How many GPUs parts can run on beside each other: one or two."""
    if shutil.which("nvidia-smi") is None:
        return 1
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return 2 if listed.stdout.count("GPU ") > 1 else 1


def of_part(
    command: Sequence[str], file: Path, limit_s: float, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Run a part as a process, with more `environment`, and read what it found in `file`; `ended`:
    how it did."""
    file.unlink(missing_ok=True)
    if limit_s <= 0:
        return {"ended": "no time was left"}
    child = subprocess.Popen(command, start_new_session=True, env={**os.environ, **environment})
    try:
        code = child.wait(timeout=limit_s)
        ended = "well" if code == 0 else f"with exit status {code}"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        ended = f"by its limit of {limit_s:.0f} s"
    facts: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {"ended": ended, **facts}
