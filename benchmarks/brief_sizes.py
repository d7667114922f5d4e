"""How many tokens a brief of a 200-line kernel has: the first, and later ones beyond the cache.

    python benchmarks/brief_sizes.py [--result FILE]

A host kernel of 200 lines (a chain of terms, generated) is opened, and `--builds` builds are spent
on it by rules; then the brief of every variant is made. Tokens are counted as the product does,
bytes of UTF-8 over 3, rounded up (`search/planning/brief.py`), as no service is asked. What is
cached of a later brief are its stable sections, which are the system prompt.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from environment import RESULTS, write

from kernelwright.search.outdir.overview import variants
from kernelwright.search.session.optimize import Opened, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.tools.brief.assemble import brief_of

LINES = 200


def main() -> None:
    """Open, search, count, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=4)
    parser.add_argument("--result", type=Path, default=RESULTS / "brief_sizes.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = sizes(Path(folder), asked.builds)
    print(json.dumps(result, indent=1))
    print(f"written to {write('brief_sizes', result, asked.result)}")


def sizes(folder: Path, builds: int) -> dict[str, Any]:
    """Tokens of the first brief by section, and of each later one beyond the stable sections."""
    kernel_id = ""
    spec = written(folder)
    with Workbench(folder / "out", [folder]) as bench:
        for event in optimize(bench, [spec], Settings(budget_builds=builds)):
            if isinstance(event, Opened):
                kernel_id = event.kernel.kernel_id
        kernel = bench.evaluator.kernel(kernel_id)
        first = brief_of(bench, kernel.baseline)
        later = [
            brief_of(bench, each.variant_id)
            for each in variants(bench.store, kernel)
            if not each.is_baseline
        ]
    beyond = [sum(s.tokens for s in brief.sections if not s.stable) for brief in later]
    return {
        "lines": LINES,
        "counted": "bytes of UTF-8 over 3, rounded up",
        "first": first.tokens,
        "first_by_section": first.ledger,
        "later": len(beyond),
        "later_beyond_the_cache_at_most": max(beyond, default=None),
    }


def written(folder: Path) -> Path:
    """The kernel, its reference and its spec."""
    body = "".join(
        f"        const float t{n} = x[i] * {1 + n / 64:.6f}f + t{n - 1} * 0.5f;\n"
        for n in range(1, LINES - 9)
    )
    source = (
        "#include <cstdint>\n\n// A chain of terms, written out as generators write it.\n"
        "void chain(const float* x, float* y, std::int32_t n) {\n"
        "    for (int i = 0; i < n; ++i) {\n        const float t0 = x[i];\n"
        f"{body}        y[i] = t{LINES - 10};\n    }}\n}}\n"
    )
    terms = [1 + n / 64 for n in range(1, LINES - 9)]
    (folder / "chain.cpp").write_text(source, encoding="utf-8")
    (folder / "reference.py").write_text(
        f"TERMS = {[round(t, 6) for t in terms]}\n\n\ndef reference(x, n):\n    t = x\n"
        "    for term in TERMS:\n        t = x * term + t * 0.5\n    return t\n",
        encoding="utf-8",
    )
    spec = {
        "name": "chain",
        "kernel": {
            "kernel_type": "cpp",
            "source_path": "chain.cpp",
            "metadata": {"kernel_name": "chain"},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 100000}},
        "workloads": [{"name": "usual", "symbols": {"n": 20000}}],
        "reference": "reference.py",
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder / "spec.json"


if __name__ == "__main__":
    main()
