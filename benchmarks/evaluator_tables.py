"""What an evaluator takes and stands, in Markdown: `readme_table.py` puts it into documents."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gpu_tables import place

Result = dict[str, Any]


def throughput(result: Result) -> str:
    """eval_throughput*.json: evaluations a second, where the time goes, and the ways of today."""
    found = result["environment"]
    lines = [
        "",
        f"Evaluations of distinct variants of a matrix product, first-set gates and comparison "
        f"with the baseline (`benchmarks/eval_throughput.py`; {place(result)}, {found['cores']} "
        f"cores, {result['builders']} builds at a time). Check and compare are seconds of a GPU's "
        "turn, medians; builds go on beside them.",
        "",
        "| kernel | GPUs | evaluations | a second | GPU busy | build, s | check, s | compare, s "
        "| the way of today, a second |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_throughput_line(row) for row in result["kinds"]),
    ]
    return "\n".join([*lines, ""])


def _throughput_line(row: Result) -> str:
    busy = " ".join(f"{100 * share:.0f} %" for share in row.get("gpu_busy", {}).values())
    stages, today = row["stages"], row.get("today", {})
    each = today.get("per_second_extrapolated")
    cells = (
        f"{row['kind']}, {row['size']}",
        row["gpus"],
        row["evaluations"],
        f"{row['per_second']:.3g}",
        busy,
        *(f"{stages[name]['median']:.2g}" for name in ("build", "check", "compare")),
        "" if each is None else f"{each:.2g} ({today['how']}, {len(today['runs'])} tried)",
    )
    return f"| {' | '.join(map(str, cells))} |"


def survival(result: Result) -> str:
    """survival_*.json: faults in a row, how they ended, and what they left."""
    found, told = result["environment"], result["summary"]
    where = place(result) if "gpu" in found else f"{found['cores']} cores, {found['date']}"
    endings = Counter(row["seen"] for row in result["rows"])
    lines = [
        "",
        f"{told['faults']} faults of {told['kinds']} kinds in a row, in random order, on the "
        f"{result['tier']} tier (`benchmarks/survival.py`; {where}): {told['wrong_endings']} "
        f"ended as something else than they should, {told['unclear_messages']} with an unclear "
        f"message; of the evaluations after them {told['wrong_verdicts_afterwards']} did not end "
        "as they should; "
        f"{told['leftovers']} left something behind. They ended as "
        + ", ".join(f"`{ending}` ({count})" for ending, count in endings.most_common())
        + ".",
    ]
    return "\n".join([*lines, ""])


def selftest(result: Result) -> str:
    """selftest_*.json: cheats caught, honest kernels passed, and which gates met them."""
    found, outcomes = result["environment"], result["outcomes"]
    where = place(result) if "gpu" in found else f"{found['cores']} cores, {found['date']}"
    verdicts = Counter(outcome["verdict"] for outcome in outcomes)
    gates = Counter(each["by"] for each in outcomes if each["verdict"] == "caught")
    commits = {each["commit"] for each in outcomes if "commit" in each}
    took = result.get("seconds", sum(outcome["seconds"] for outcome in outcomes))
    others = {name: n for name, n in verdicts.items() if name not in ("caught", "passed")}
    left = ", ".join(f"`{name}`" for name in result.get("left", ()))
    lines = [
        "",
        f"The library of cheats on the {result['tier']} tier (`kernelwright selftest`; {where}): "
        f"{verdicts['caught']} cheats and broken kernels caught and {verdicts['passed']} honest "
        f"kernels passed of {len(outcomes)} pages, in {took:.0f} s"
        + (f", tried at {len(commits)} commits" if len(commits) > 1 else "")
        + "".join(f"; {name}: {n}" for name, n in others.items())
        + ". Caught by "
        + ", ".join(f"`{gate}` ({count})" for gate, count in gates.most_common())
        + "."
        + (f" Not tried here since they were written or mended: {left}." if left else ""),
    ]
    return "\n".join([*lines, ""])
