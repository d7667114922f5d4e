"""A project for one client: a small kernel, a server of it, and nothing left of it afterwards."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "matmul"
SMALL = [
    {"name": "small", "symbols": {"M": 128, "N": 160, "K": 96}},
    {"name": "ragged", "symbols": {"M": 65, "N": 71, "K": 77}, "held_out": True},
]
COMMAND = str(Path(sys.executable).with_name("kernelwright"))
END_S = 15.0
GRACE_S = 5.0
"""for children of a broker that has ended: their parent's death ends them a moment later"""

Target = dict[str, Any]


def project(folder: Path) -> Path:
    """The example with sizes that a busy machine times in a moment."""
    shutil.copytree(EXAMPLE, folder)
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    spec["workloads"] = SMALL
    del spec["parameters"]["THREADS"]
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder


@contextmanager
def target_of(folder: Path, transport: str, scratch: Path | None = None) -> Generator[Target]:
    """What a client connects to; its broker is stopped afterwards.

    With `scratch` the server keeps temporary files there, and with them the lock on timing: it
    waits for no other server of this machine, and its times are no figures.
    """
    state = ["--outdir", str(folder / "state")]
    serve = ["serve", *state, "--root", str(folder)]
    start = [COMMAND] if scratch is None else ["/usr/bin/env", f"TMPDIR={scratch}", COMMAND]
    try:
        if transport == "stdio":
            yield {"transport": "stdio", "command": start[0], "args": [*start[1:], *serve]}
        else:
            token = said_by("token", "make", "matrix", *state).split()[-1]
            with served([*start, *serve, "--http", "0"]) as url:
                yield {"transport": "http", "url": url, "token": token}
    finally:
        said_by("broker", "stop", *state)


@contextmanager
def served(command: list[str]) -> Generator[str]:
    """The URL of a server over HTTP while it runs."""
    log = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert log.stderr is not None
        yield re.findall(r"http://\S+", log.stderr.readline())[0]
    finally:
        log.terminate()
        try:
            log.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            log.kill()
            log.communicate()


def said_by(*arguments: str) -> str:
    """What the command says."""
    asked = [COMMAND, *arguments]
    return subprocess.run(
        asked, capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL
    ).stdout


def left_over(folder: Path) -> list[str]:
    """End the processes that still name the folder though they had time to end; tell which."""
    there = [p for p in psutil.process_iter(["cmdline"]) if names(p, folder)]
    found = psutil.wait_procs(there, GRACE_S)[1]
    told = [" ".join(p.info["cmdline"][1:])[:200] for p in found]  # less the interpreter's path
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(found, END_S)
    return told


def names(process: psutil.Process, folder: Path) -> bool:
    """Whether a process was started for that project."""
    return any(str(folder) in word for word in process.info["cmdline"] or ())
