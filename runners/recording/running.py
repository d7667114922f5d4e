"""A program of the user, run to its end beneath us: limited, told as it goes, ended with us."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import AccessError
from ..processes.child import Child
from ..processes.process import Limits, spawner

MOST_FILE_BYTES = 1 << 46
OPEN_FILES = 1 << 16
ECHO_S = 0.1
IN_FOLDER = ("/bin/sh", "-c", 'cd "$0" && exec "$@"')
"""a program starts in its user's folder, and not in ours"""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended. Seconds are of the wall, from its start to its end."""

    returncode: int
    ending: str
    wall_s: float
    timed_out: bool
    stdout: str
    stderr: str

    @property
    def failed(self) -> bool:
        """It said so itself, or was ended."""
        return self.timed_out or self.returncode != 0


def run_program(
    command: Sequence[str],
    *,
    folder: Path,
    scratch: Path,
    environment: Mapping[str, str],
    timeout_s: float | None = None,
    echo: bool = False,
    stdin: Path | None = None,
) -> Ran:
    """Run a command of the user in his `folder`, with his environment and more, to its end.

    Its output goes to `scratch`, and with `echo` to ours while it runs; it reads `stdin`, or
    nothing. Nothing that it started outlives it or us. Raises AccessError for a program that is not
    there.
    """
    path = os.environ | dict(environment)
    on_path = shutil.which(command[0], path=path.get("PATH"))
    # Not Path.is_file: that raises for a name that no file can have.
    if on_path is None and not os.path.isfile(folder / command[0]):
        raise AccessError(
            f"there is no program {command[0]!r}", next_step="name its file, or one on PATH"
        )
    # CUDA does not start beneath a supervisor in a PID namespace: a plain child
    with spawner().start(
        [*IN_FOLDER, str(folder), *command],
        name="program",
        scratch=scratch,
        environment=path,
        limits=Limits(wall_s=timeout_s, file_bytes=MOST_FILE_BYTES, open_files=_open_files()),
    ) as child:
        returncode = _wait(child, scratch if echo else None)
        return Ran(
            returncode=returncode,
            ending=child.describe_end(),
            wall_s=(child.ended or child.started) - child.started,
            timed_out=child.timed_out,
            stdout=child.stdout_text(1 << 20),
            stderr=child.stderr_text(1 << 20),
        )


def _open_files() -> int:
    import resource

    return min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def given_input() -> Path | None:
    """What we are given to read, where it is a file or a pipe; a terminal stays ours."""
    try:
        return None if sys.stdin.isatty() else Path("/dev/stdin")
    except (ValueError, OSError):
        return None


def _wait(child: Child, echoed: Path | None) -> int:
    done = threading.Event()
    teller = None
    if echoed is not None:
        teller = threading.Thread(target=_tell, args=(echoed, done), name="echo", daemon=True)
        teller.start()
    try:
        while (returncode := child.wait()) is None:
            pass
        return returncode
    finally:
        done.set()
        if teller is not None:
            teller.join()


def _tell(scratch: Path, done: threading.Event) -> None:
    """Copy what the program writes to our own streams, as it comes."""
    with (
        (scratch / "program.stdout").open("rb") as out,
        (scratch / "program.stderr").open("rb") as err,
    ):
        pairs = ((out, sys.stdout), (err, sys.stderr))
        ended = False
        while not ended:
            ended = done.wait(ECHO_S)
            for source, target in pairs:
                if text := source.read():
                    target.write(text.decode(errors="replace"))
                    target.flush()
