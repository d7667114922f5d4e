"""How long the library of cheats takes on this machine, and who was caught by which gate.

Usage: python benchmarks/selftest.py [native] [device]

Runs `kernelwright selftest` for each tier and writes what it tells, with the environment, to
benchmarks/results/selftest_<tier>.json. Ends with the first exit status that is not 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import write

TIERS = ("native", "device")


def main() -> None:
    """The tiers asked for; default: both."""
    statuses = [_tried(tier) for tier in sys.argv[1:] or TIERS]
    sys.exit(next((status for status in statuses if status), 0))


def _tried(tier: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "outcomes.json"
        asked = ("kernelwright", "selftest", "--tier", tier, "--json", str(told))
        status = subprocess.run(asked, check=False).returncode
        result = json.loads(told.read_text(encoding="utf-8"))
    print(write(f"selftest_{tier}", {"tier": tier, **result}))
    return status


if __name__ == "__main__":
    main()
