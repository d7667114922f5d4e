"""Memory that is moved into huge pages keeps what it holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SCRIPT = """
import hashlib, json, mmap, re
from pathlib import Path
from kernelwright.runners.processes.huge_pages import collapse

def huge():
    text = Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"AnonHugePages: +(\\d+)", text)[1])

memory = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.write(bytes(range(256)) * (1 << 16))
before, digest = huge(), hashlib.sha256(memory).hexdigest()
collapse()
print(json.dumps([before, huge(), digest == hashlib.sha256(memory).hexdigest()]))
"""


def test_memory_keeps_its_content_and_becomes_huge_where_the_kernel_can() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    before, after, same = json.loads(done.stdout)
    assert same
    assert after >= before
    if SETTING.exists() and "[never]" not in SETTING.read_text() and _linux() >= (6, 1):
        assert after - before >= 8 << 10


def _linux() -> tuple[int, int]:
    major, minor = Path("/proc/sys/kernel/osrelease").read_text(encoding="ascii").split(".")[:2]
    return int(major), int("".join(filter(str.isdigit, minor)))
