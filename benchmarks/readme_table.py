"""Write README's results table from benchmarks/results/host_examples.json."""

from __future__ import annotations

import json
from typing import Any

from environment import RESULTS, ROOT

START = "<!-- results: written by `python benchmarks/readme_table.py`, do not edit -->"
END = "<!-- end of results -->"


def table(result: dict[str, Any]) -> str:
    """The table in Markdown, with where and when it was measured."""
    place = result["environment"]
    lines = [
        "",
        f"The examples on {place['cores']} cores of an {place['cpu']} ({place['compiler']}, "
        f"{place['date']}), rules only, {result['budget_builds']} builds each. Baselines are "
        "what a beginner writes; speedups are those of the confirmation, with 95 % intervals.",
        "",
        "| kernel | baseline, ms | best, ms | speedup | on the held-out shape | what changed |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["examples"]:
        lines.append(
            f"| {row['kernel']} | {_times(row['baseline_ms'])} | {_times(row['best_ms'])} "
            f"| {_speedup(row, '')} | {_speedup(row, 'held_out_')} | {row['changed']} |"
        )
    lines += [
        "",
        *(f"The {r['kernel']} winner reaches {r['reaches']}." for r in result["examples"]),
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Replace what stands between the two marks of README."""
    result = json.loads((RESULTS / "host_examples.json").read_text(encoding="utf-8"))
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{table(result)}\n{END}{after}", encoding="utf-8")


def _times(ms: dict[str, float]) -> str:
    return ", ".join(f"{value:.3g}" for value in ms.values())


def _speedup(row: dict[str, Any], prefix: str) -> str:
    value = row[f"{prefix}speedup"]
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return f"{value:.3g}x ({low:.3g} to {high:.3g})"


if __name__ == "__main__":
    main()
