"""Which GPUs this machine has, asked in a process of its own: the server never loads CUDA."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import ValidationError

from ..devices import DeviceFacts
from ..model import Record
from ..process import Limits, clean_environment, run_limited

PROBE_S = 30.0


class Probed(Record):
    """The GPUs of this machine, and why there are none."""

    devices: tuple[DeviceFacts, ...] = ()
    why_none: str = ""


def probe_devices(scratch: Path) -> Probed:
    """Ask the driver (`probe.py`) in a child; whatever goes wrong there is a reason, no error."""
    scratch.mkdir(parents=True, exist_ok=True)
    done = run_limited(
        [sys.executable, "-m", "kernelwright.runners.device.probe"],
        scratch=scratch,
        environment=clean_environment(scratch),
        limits=Limits(wall_s=PROBE_S),
    )
    try:
        if done.returncode == 0:
            return Probed.model_validate(json.loads(done.stdout))
    except (ValueError, ValidationError) as error:
        return Probed(why_none=f"the probe printed {done.stdout[:200]!r}: {error}")
    said = (done.stderr.strip().splitlines() or [done.ending])[-1]
    return Probed(why_none=f"asking the driver failed: {said}")
