"""Which GPUs this machine has, asked in a process of its own: the server never loads CUDA."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import ValidationError

from ...model import Record
from ...processes.process import Limits, clean_environment, spawner
from ...specs.devices import DeviceFacts

PROBE = "probe"
"""the child's name; what it finds holds for good, so nobody may end it but its own limit"""
PROBE_S = 30.0


class Probed(Record):
    """The GPUs of this machine, and why there are none."""

    devices: tuple[DeviceFacts, ...] = ()
    why_none: str = ""


def probe_devices(scratch: Path) -> Probed:
    """Ask the driver (`probe.py`) in a child; whatever goes wrong there is a reason, no error."""
    scratch.mkdir(parents=True, exist_ok=True)
    child = spawner().start(  # the driver starts in no namespace of its own: not supervised
        [sys.executable, "-P", "-m", "kernelwright.runners.device.presence.probe"],
        name=PROBE,
        scratch=scratch,
        environment=clean_environment(scratch),
        limits=Limits(wall_s=PROBE_S),
    )
    with child:
        returncode = child.wait()
        while returncode is None:
            returncode = child.wait()
        printed, said = child.stdout_text(), child.stderr_text().strip().splitlines()
        ending = child.describe_end()
    try:
        if returncode == 0:
            return Probed.model_validate(json.loads(printed))
    except (ValueError, ValidationError) as error:
        return Probed(why_none=f"the probe printed {printed[:200]!r}: {error}")
    return Probed(why_none=f"asking the driver failed: {(said or [ending])[-1]}")
