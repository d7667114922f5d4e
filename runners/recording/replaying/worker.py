"""The process that replays: kept launches one after the other, an event a line on stdout.

A launch may break the context or never end; then this process ends, and another one goes on.
Started as `python -m kernelwright.runners.recording.replaying.worker JOB`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ...device.cuda_driver import driver
from ...device.cuda_driver.faults import DriverFault
from ...errors import KernelwrightError
from ..recorded import Size3
from .kept import KeptLaunch, read_kept
from .replay import Hung, Other, Replay

LOST, HUNG = 3, 4
"""exit statuses"""
MOST_POISONED = 256 << 20
"""bytes of a buffer whose role is looked for"""


def main() -> None:
    """The argument: a file with the job, as `replaying.py` writes it."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    driver.make_current()
    for item in job["items"]:
        file = item["file"]
        try:
            _one(read_kept(Path(file)), item, job)
        except Hung as hung:
            _say(file, "failed", why=str(hung))
            os._exit(HUNG)  # the GPU still works on it: nothing of this process ends in order
        except DriverFault as fault:
            _say(file, "failed", why=str(fault))
            if fault.sticky:
                os._exit(LOST)
        except KernelwrightError as error:
            _say(file, "failed", why=str(error))
        _say(file, "done")


def _one(kept: KeptLaunch, item: dict[str, Any], job: dict[str, Any]) -> None:
    replay = Replay(
        kept, relocate=job["relocate"], other=_other(job["other"]), wait_s=job["wait_s"]
    )
    file = item["file"]
    if item["compare"]:
        _compare(file, replay, job["runs"])
    if job["roles"]:
        for index in range(item["from_buffer"], len(kept.buffers)):
            _say(file, "poisons", buffer=index)
            _say(file, "role", buffer=index, **_role(replay, index))
    replay.close()


def _other(given: dict[str, Any] | None) -> Other | None:
    if given is None:
        return None
    return Other(
        Path(given["image"]),
        given["entry"],
        _size3(given["grid"]),
        _size3(given["block"]),
        given["shared"],
    )


def _size3(given: list[int]) -> Size3:
    return (given[0], given[1], given[2])


def _compare(file: str, replay: Replay, runs: int) -> None:
    """Against the program, and against itself: what does not repeat has noise of its own."""
    first = replay.run()
    kept = [replay.read(index) for index in range(len(replay.after))]
    again = replay.run()
    noise = sum(
        int(np.count_nonzero(replay.read(index) != data)) for index, data in enumerate(kept)
    )
    written = sum(
        int(np.count_nonzero(after != before))
        for after, before in zip(replay.after, replay.before, strict=True)
    )
    _say(
        file,
        "compared",
        differing=first.differing,
        variables=first.variables,
        again=sum(again.differing) + again.variables,
        noise=noise,
        written=written,
        moved=replay.places.moved,
        patched=replay.patched,
    )
    if runs:
        cold, warm = replay.times_us(runs, cold=True), replay.times_us(runs, cold=False)
        _say(file, "timed", cold_us=cold, warm_us=warm)


def _role(replay: Replay, index: int) -> dict[str, Any]:
    buffer = replay.kept.buffers[index]
    if buffer.size > MOST_POISONED:
        return {"role": "not looked at", "why": f"it has over {MOST_POISONED} bytes"}
    if buffer.embedded:
        return {"role": "not looked at", "why": "its address stands in memory"}
    mask, pure = replay.wrote(index)
    where = np.flatnonzero(mask)
    if not where.size:
        return {"role": "input", "written": 0}
    return {
        "role": "output" if pure else "inout",
        "written": int(where.size),
        "first": int(where[0]),
        "last": int(where[-1]),
    }


def _say(file: str, event: str, **told: Any) -> None:
    print(json.dumps({"file": file, "event": event, **told}), flush=True)


if __name__ == "__main__":
    main()
