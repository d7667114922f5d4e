"""How long the PTX reader and the Region-DAG take, by size, beside another parser's parse alone.

    python benchmarks/region_dag_speed.py [--repeats N] [--result FILE]

The texts are the kernels of `tests/ptx`, one after another, with names of their own, until a size
is reached; every kernel of a text gets its Region-DAG. The other parser is `pyptx` where it is
installed. Times are processor time, the least of all repeats.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environment import ROOT, write

from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.regions import region_dag_of

SIZES = (250_000, 500_000, 1_000_000, 2_000_000)
LIMIT_S = 0.5
"""for everything, of a text of 1 MB"""
HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
_SAID_ONCE = re.compile(r"^\s*\.(?:version|target|address_size|file)\b.*\n", re.MULTILINE)


def main() -> None:
    """Measure every size and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--result", type=Path)
    asked = parser.parse_args()
    rows = [measured(synthetic(size), asked.repeats) for size in SIZES]
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    path = write("region_dag_speed", {"limit_s": LIMIT_S, "sizes": rows}, asked.result)
    print(f"written to {path}")


def synthetic(size: int) -> str:
    """A module of at least `size` characters out of real kernels."""
    sources = [
        _SAID_ONCE.sub("", file.read_text(encoding="utf-8").partition("\n\t.section")[0])
        for file in sorted((ROOT / "tests" / "ptx").glob("*.ptx"))
    ]
    parts, total = [HEAD], 0
    while total < size:
        for text in sources:
            name = re.search(r"\.entry\s+(\w+)", text)
            renamed = re.sub(rf"\b{name[1]}\b", f"{name[1]}_{len(parts)}", text) if name else text
            parts.append(renamed)
            total += len(renamed)
            if total >= size:
                break
    return "\n".join(parts)


def measured(text: str, repeats: int) -> dict[str, Any]:
    """Seconds for one text."""
    module = read_ptx(text)
    read_s = least(lambda: read_ptx(text), repeats)
    dag_s = least(lambda: [region_dag_of(module, e.name) for e in module.entries], repeats)
    found: dict[str, Any] = {
        "characters": len(text),
        "kernels": len(module.entries),
        "instructions": sum(len(each.instructions) for each in module.entries),
        "read_s": round(read_s, 3),
        "dag_s": round(dag_s, 3),
        "both_s": round(read_s + dag_s, 3),
    }
    if importlib.util.find_spec("pyptx") is not None:
        other: Any = importlib.import_module("pyptx.parser")
        found["pyptx_parse_alone_s"] = round(least(lambda: other.parse(text), 1), 3)
    return found


def least(work: Callable[[], Any], repeats: int) -> float:
    """The least processor time of a few runs."""
    times = list[float]()
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
