"""What the Region-DAG says of five kernels, as JSON: `python tests/support/region_golden.py`.

Whoever writes it reads the difference line by line: the files were reviewed by eye.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ptx_texts import text

from kernelwright.analysis.regions import overview, region_dag

FOLDER = Path(__file__).parents[1] / "golden" / "regions"
NAMES = ("triton_matmul", "triton_softmax", "sgemm", "bulk_sum", "cub_sort")


def golden(name: str) -> dict[str, Any]:
    """The overview of a kernel, and its regions and edges, one a line."""
    dag = region_dag(text(name))
    regions = [
        f"{r.name} {dag.stages[r.stage].name} {r.phase.value}"
        f" lines {lines[0].line}-{lines[-1].line}, {r.work.instructions} instructions,"
        f" {r.work.bytes()} bytes, {sum(r.work.flops.values())} FLOPs"
        for r in dag.regions
        for lines in [dag.instructions(r)]
    ]
    edges = [
        f"R{e.source + 1} -> R{e.target + 1} {e.kind} {e.what}{' again' if e.carried else ''}"
        for e in dag.edges
    ]
    told = overview(dag).model_dump(mode="json")
    return {"overview": told, "regions": regions, "edges": edges}


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        shown = json.dumps(golden(name), indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(shown, encoding="utf-8")


if __name__ == "__main__":
    main()
