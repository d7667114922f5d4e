"""What processor this machine has, as the kernel tells it: model, vector units, caches."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..model import Record

CPUINFO = Path("/proc/cpuinfo")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
VECTORS: tuple[tuple[str, str, int | None], ...] = (
    ("avx512f", "AVX-512", 512),
    ("avx2", "AVX2", 256),
    ("avx", "AVX", 256),
    ("sve", "SVE", None),
    ("asimd", "NEON", 128),
    ("sse2", "SSE2", 128),
)
"""flag, name and bits, the widest first; None: the implementation decides"""


class Processor(Record):
    """The first processor; empty texts and None are unknown."""

    model: str
    vectors: str
    """the widest vector instructions"""
    vector_bits: int | None
    caches: dict[str, int]
    """bytes, by level (`L1d`, `L2`), of one core or of those that share it"""


@cache
def processor() -> Processor:
    """Read once."""
    try:
        text = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    flags = set(_field(text, "flags|Features").split())
    known = next((each for each in VECTORS if each[0] in flags), ("", "", None))
    return Processor(
        model=_field(text, "model name|CPU part"),
        vectors=known[1],
        vector_bits=known[2],
        caches=dict(filter(None, map(_cache, sorted(CACHES.glob("index*"))))),
    )


def _field(text: str, names: str) -> str:
    found = re.search(rf"^(?:{names})\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _cache(folder: Path) -> tuple[str, int] | None:
    """Name and bytes of a cache; None for one of instructions alone, or that says nothing."""
    try:
        words = [(folder / name).read_text(encoding="ascii") for name in ("level", "type", "size")]
    except OSError:
        return None
    level, kind, size = map(str.strip, words)
    number = re.fullmatch(r"(\d+)([KMG]?)", size)
    if kind == "Instruction" or number is None:
        return None
    scale = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[number[2]]
    return f"L{level}{'d' if kind == 'Data' else ''}", int(number[1]) * scale
