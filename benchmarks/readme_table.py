"""Write what was measured, in benchmarks/results/, into docs/results.md and docs/how-we-measure.md.

What a file that is not there would say is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import evaluator_tables
import fidelity_tables
import gpu_tables
import no_model_tables
import replay_tables
import sweep_tables
from cells import percents, speedup, times
from environment import RESULTS, ROOT

START = "<!-- results: written by `python benchmarks/readme_table.py`, do not edit -->"
END = "<!-- end of results -->"


def host_table(result: dict[str, Any]) -> str:
    """The host examples in Markdown, with where and when they were measured."""
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
            f"| {row['kernel']} | {times(row['baseline_ms'])} | {times(row['best_ms'])} "
            f"| {speedup(row, '')} | {speedup(row, 'held_out_')} | {row['changed']} |"
        )
    lines += [
        "",
        *(f"The {r['kernel']} winner reaches {r['reaches']}." for r in result["examples"]),
    ]
    return "\n".join([*lines, ""])


def gpu_table(result: dict[str, Any]) -> str:
    """The GPU examples in Markdown, with where and when they were measured."""
    place, yardsticks = result["environment"], result["yardsticks"]
    packages = place["packages"]
    beside = ", ".join(f"{p} {packages[p]}" for p in ("torch", "triton") if p in packages)
    copy = yardsticks.get("copy_bytes_per_s")
    lines = [
        "",
        f"The GPU examples on an {place['gpu']} (driver {place['driver']}, "
        f"CUDA {place['cuda'].partition(',')[0]}, "
        f"{beside}, {place['date']}), rules only, {result['budget_builds']} builds or "
        f"{result['budget_seconds']:g} s each{result.get('note', '')}. Shares are the winner's: of "
        "the copy bandwidth that was measured beside it, of what the datasheet allows for the "
        "declared work, and of the library's speed"
        + ("" if copy is None else f" (torch; its own large copy moves {copy / 1e12:.3g} TB/s)")
        + ".",
        "",
        "| kernel | baseline, ms | best, ms | speedup | on the held-out shape | of a copy "
        "| of the datasheet | of the library | what changed |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_gpu_line(row) for row in result["examples"] if "error" not in row),
    ]
    return "\n".join([*lines, ""])


DOCUMENTS: Mapping[str, tuple[tuple[str, Callable[[dict[str, Any]], str]], ...]] = {
    "docs/results.md": (
        ("host_examples", host_table),
        ("no_model", no_model_tables.markdown),
    ),
    "docs/how-we-measure.md": (
        ("timing_fidelity*", fidelity_tables.fidelity),
        ("settling", fidelity_tables.settling),
        ("eval_throughput", evaluator_tables.throughput),
        ("eval_throughput_two_gpus", evaluator_tables.throughput),
        ("survival_*", evaluator_tables.survival),
        ("selftest_*", evaluator_tables.selftest),
        ("device_runner", gpu_tables.device_runner),
        ("triton_bit_equality*", gpu_tables.bit_equality),
        ("gpu_examples", gpu_table),
        ("gpu_costs", gpu_tables.costs),
        ("gpu_agent", gpu_tables.agent),
        ("search_efficiency", sweep_tables.efficiency),
        ("policy_ablation", replay_tables.ablation),
        ("regraph_replay", replay_tables.regraph),
    ),
}
"""Files of results by the document that shows them, with what makes text of one."""


def filled(name: str, text: str) -> str:
    """The text of a document with today's results between its two marks."""
    parts = [
        made(json.loads(file.read_text(encoding="utf-8")))
        for pattern, made in DOCUMENTS[name]
        for file in sorted(RESULTS.glob(f"{pattern}.json"))
    ]
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{''.join(parts)}\n{END}{after}"


def main() -> None:
    """Replace what stands between the two marks of each document."""
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(filled(name, path.read_text(encoding="utf-8")), encoding="utf-8")


def _gpu_line(row: dict[str, Any]) -> str:
    library = {w: t / row["best_ms"][w] for w, t in row.get("library_ms", {}).items()}
    cells = (
        row["kernel"],
        times(row["baseline_ms"]),
        times(row["best_ms"]),
        speedup(row, ""),
        speedup(row, "held_out_"),
        percents(row["of_copy_bandwidth"]),
        percents(row["of_datasheet"]),
        percents(library),
        row["changed"],
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
