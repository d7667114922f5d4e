"""What was measured of measuring on a GPU, in Markdown: `readme_table.py` puts it into documents.

Each function takes the content of one file of benchmarks/results/.
"""

from __future__ import annotations

import math
from typing import Any

from cells import times

Result = dict[str, Any]


def place(result: Result) -> str:
    """GPU, driver, compiler and date."""
    found = result["environment"]
    cuda = found["cuda"].partition(",")[0]
    return f"{found['gpu']}, driver {found['driver']}, CUDA {cuda}, {found['date']}"


def device_runner(result: Result) -> str:
    """device_runner.json: a kernel against itself, kept cache lines, and what the runner costs."""
    kernels = result["kernels"].values()
    small, large = (result["kernels"][name] for name in ("small", "large"))
    sessions = sorted(math.exp(ratio) - 1 for ratio in result["sessions"])
    kept = result["kept_lines"]
    lines = [
        "",
        "A kernel against itself under two names (`benchmarks/device_runner.py`; "
        f"{place(result)}). A block has {small['samples_a_block']} samples; a difference is that "
        "of the two sides' medians in one block.",
        "",
        "| bytes moved | calls a sample | time, us | spread of times between blocks "
        "| median difference | its standard deviation | largest |",
        "|---|---|---|---|---|---|---|",
        *(_against_itself(each) for each in kernels),
        "",
        f"Loaded anew {len(sessions)} times, the small kernel differs from itself by "
        f"{_percent(sessions[0])} to {_percent(sessions[-1])} in the median of the blocks of one "
        "load. A kernel that asks L2 to keep what it reads (`evict_last`, 16 MiB) takes "
        f"{kept['keeps']:.4g} us, and {kept['reads']:.4g} us without asking: it would be the "
        f"faster one if its lines survived the flush. A large copy moves "
        f"{result['copy_bytes_per_s'] / 1e12:.3g} TB/s.",
        "",
        f"The first check of a new process takes {small['start_to_first_check_s']:.2g} s for the "
        f"small kernel and {large['start_to_first_check_s']:.2g} s for the large one, a later "
        f"check of two seeds {_ms(small['check_of_two_seeds_s'])} and "
        f"{_ms(large['check_of_two_seeds_s'])}, a block {_ms(small['block_s'])} and "
        f"{_ms(large['block_s'])}.",
    ]
    return "\n".join([*lines, ""])


def bit_equality(result: Result) -> str:
    """triton_bit_equality.json: captured plans against Triton's own launches."""
    rows = result["rows"]
    unequal = [f"{row['kernel']} on {row['workload']}" for row in rows if not row["equal"]]
    but = f" (not {', '.join(unequal)})" if unequal else ""
    ratios = sorted(row["ratio"] - 1 for row in rows)
    within = result["within"]
    beyond = [row for row in rows if not row["within_1_percent"]]
    kernels = len({row["kernel"] for row in rows})
    text = (
        "\nCaptured plans that we replay against Triton's own launches of the same kernels "
        f"(`benchmarks/triton_bit_equality.py`; {place(result)}): outputs are equal bit for bit in "
        f"{len(rows) - len(unequal)} of {len(rows)} workloads of {kernels} specs{but}. "
        "Triton's time differs from ours by "
        f"{_percent(ratios[0])} to {_percent(ratios[-1])}, within {_percent(within)} in "
        f"{len(rows) - len(beyond)} of {len(rows)}."
    )
    if beyond:
        told = (f"{r['kernel']} on {r['workload']} by {_percent(r['ratio'] - 1)}" for r in beyond)
        text += f" Beyond it: {', '.join(told)}."
    return f"{text}\n"


def costs(result: Result) -> str:
    """gpu_costs.json: seconds of opening and of evaluations by stage."""
    lines = [
        "",
        f"Seconds that an evaluation takes (`benchmarks/gpu_costs.py`; {place(result)}), least to "
        "most of a few candidates. Opening starts all processes.",
        "",
        "| kernel | opening | build | check | comparison | evaluation |",
        "|---|---|---|---|---|---|",
    ]
    for case in result["cases"]:
        found = case["evaluations"]
        stages = (
            *([e["seconds"].get(s, 0.0) for e in found] for s in ("build", "check", "compare")),
            [e["total_s"] for e in found],
        )
        cells = (case["example"], f"{case['open_s']:.3g}", *map(_from_to, stages))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def agent(result: Result) -> str:
    """gpu_agent.json: three candidates sent over MCP, and what came back."""
    workloads = result["opened"]["workloads"]
    lines = [
        "",
        f"A client of the MCP server opens the Triton softmax for shapes of its own "
        f"(`benchmarks/gpu_agent.py`; {place(result)}; baseline "
        f"{times({w['workload']: w['baseline_ms'] for w in workloads})} ms) and sends three "
        f"candidates. Opening took {result['open_s']:.3g} s.",
        "",
        "| candidate | ending | speedup | compile_variant, s | time_variant, s |",
        "|---|---|---|---|---|",
        *(_candidate(row) for row in result["candidates"]),
    ]
    exported = result.get("exported")
    if exported is not None:
        lines += ["", f"The winner was exported: {exported['confirmation']}."]
    return "\n".join([*lines, ""])


def _against_itself(kernel: Result) -> str:
    same = kernel["same_against_itself"]
    cells = (
        f"{kernel['bytes'] / 1e6:.3g} MB",
        str(kernel["calls"]),
        f"{kernel['microseconds']:.3g}",
        _percent(kernel["spread_of_times"]),
        *(_percent(same[part]) for part in ("median", "standard_deviation", "largest")),
    )
    return f"| {' | '.join(cells)} |"


def _candidate(row: Result) -> str:
    speedup = "-"
    if row.get("speedup") is not None:
        low, high = row["interval"]
        speedup = f"{row['speedup']:.3g}x ({low:.3g} to {high:.3g})"
    took = (f"{row[part]:.3g}" if part in row else "-" for part in ("compile_s", "time_s"))
    return f"| {' | '.join((row['idea'], row.get('ending') or 'not built', speedup, *took))} |"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def _from_to(values: list[float]) -> str:
    low, high = (f"{value:.2g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
