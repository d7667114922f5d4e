"""Starting a child, with limits, so that nothing of it stays behind.

Every child is started through `launch.py`, which ties it to the thread that started it and sets
its limits before its program begins. It has its own session and process group, an empty stdin,
stdout and stderr in files, an allow-listed environment, and its scratch folder to work in.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ..errors import KernelwrightError
from . import launch
from .channel import Channel
from .child import Child, Limits, Log
from .disk_room import writing
from .killing import MARK, starting

PASSED_ON = frozenset(
    "PATH HOME LANG LANGUAGE TZ CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_HOME CUDA_PATH "
    "LD_LIBRARY_PATH COMPILE_CACHE_DIR".split()
)
"""Environment variables a child may see, besides LC_*; all others stay with us."""

_LAUNCH = (
    *(sys.executable, "-I", "-S", "-c"),
    "import sys; sys.path.append(sys.argv.pop(1)); from processes.launch import main; main()",
    str(Path(launch.__file__).resolve().parents[1]),
)
"""and its argument: `launch.main`, which needs nothing of ours but the folder it lies in"""
_numbers = itertools.count(1)
NULL = Path(os.devnull)


def clean_environment(scratch: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: the variables of `PASSED_ON`, TMPDIR=scratch, and `extra`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith("LC_")
    }
    return kept | {"TMPDIR": str(scratch)} | dict(extra or {})


def start_child(
    argv: Sequence[str | Path],
    *,
    name: str,
    scratch: Path,
    environment: Mapping[str, str],
    limits: Limits,
    pass_fds: Sequence[int] = (),
    supervised: bool = False,
    channel: Channel | None = None,
    stdin: Path | None = None,
) -> Child:
    """Start a child of the calling thread, which must outlive it (see `Spawner`). `stdin`: a file
    that it reads; None: it is empty."""
    words = [os.fspath(word) for word in argv]
    if "/" not in words[0] and shutil.which(words[0], path=environment.get("PATH")) is None:
        raise KernelwrightError(
            f"there is no program {words[0]!r} on PATH", next_step="run `kernelwright doctor`"
        )
    mark = next_mark()
    spec = {
        "argv": words,
        "parent": os.getpid(),
        "limits": limits.rlimits(),
        "supervised": supervised,
    }
    logs = open_logs(scratch, name)
    with starting() as own, (stdin or NULL).open("rb") as given:
        popen = subprocess.Popen(
            [*_LAUNCH, json.dumps(spec)],
            stdin=given,
            stdout=logs[0].fd,
            stderr=logs[1].fd,
            pass_fds=tuple(pass_fds),
            env={**environment, MARK: mark},
            cwd=scratch,
            start_new_session=True,
        )
        own.add(popen.pid)
    return Child(popen, name=name, mark=mark, limits=limits, logs=logs, channel=channel)


def start_module(
    module: str,
    arguments: Sequence[str] = (),
    *,
    name: str,
    scratch: Path,
    environment: Mapping[str, str],
    limits: Limits,
    pass_fds: Sequence[int] = (),
) -> Child:
    """Start a Python module as a child of the calling thread, with a channel to it, the number of
    whose end is its first argument."""
    ours, theirs = Channel.pair()
    fd = theirs.fileno()
    try:
        return start_child(
            [sys.executable, "-P", "-m", module, str(fd), *arguments],
            name=name,
            scratch=scratch,
            environment=environment,
            limits=limits,
            pass_fds=(*pass_fds, fd),
            channel=ours,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()


def next_mark() -> str:
    """By which a child is known that has lost its place in the tree (`killing.MARK`)."""
    return f"{os.getpid()}.{next(_numbers)}"


def open_logs(scratch: Path, name: str) -> tuple[Log, Log]:
    """Where a child writes stdout and stderr."""
    with writing(scratch, f"the output of {name}"):
        scratch.mkdir(parents=True, exist_ok=True)  # somebody may have tidied it away
        return Log(scratch / f"{name}.stdout"), Log(scratch / f"{name}.stderr")


@cache
def probe_pid_namespaces() -> str:
    """How supervised children get a PID namespace; empty where the system gives none."""
    done = subprocess.run(
        [*_LAUNCH, "probe"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.stdout.strip()


def has_pid_namespaces() -> bool:
    """Whether the kernel itself kills what a supervised child leaves behind."""
    return bool(probe_pid_namespaces())
