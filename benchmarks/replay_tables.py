"""Searches in recorded graphs, as tables for documents: policies, and what a ReGraph saves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def ablation(result: Mapping[str, Any]) -> str:
    """Policies of the search in closed graphs, in Markdown."""
    kernels = ", ".join(
        f"{k['kernel']} ({k['nodes']} variants, best {k['best_speedup']:.3g}x)"
        for k in result["kernels"]
    )
    budgets = result["budgets"]
    lines = [
        "",
        "Policies of the search in recorded graphs of code edits, every rewrite of the rules that "
        "applies to the baseline and most of those that apply after it, evaluated on an H200 "
        f"(`benchmarks/policy_ablation.py`, `benchmarks/data/closed_graphs.json.gz`): {kernels}. "
        "Log of the best speedup found over log of the best there is, mean of "
        f"{result['seeds']} seeds a kernel with 95 % intervals; last the builds until 98 % of the "
        "best speedup.",
        "",
        f"| policy | {' | '.join(f'{budget} builds' for budget in budgets)} | builds to 98 % |",
        f"|---|{'---|' * (len(budgets) + 1)}",
    ]
    for row in result["policies"]:
        cells = [_mean_of(score, ".3f") for score in row["score"]]
        cells.append(_mean_of(row["builds_to_the_best"], ".1f"))
        lines.append(f"| {row['policy']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def regraph(result: Mapping[str, Any]) -> str:
    """Builds with a ReGraph and without, in Markdown."""
    without, with_it = result["builds"]
    several = result["median_ratio_of_more_than_one_build"]
    means = ", ".join(
        f"{language} {sums[1]:.1f} of {sums[0]:.1f} ({sums[1] / sums[0]:.2f}; one build a "
        f"kernel, the least that there is, would be {_kernels(result, language) / sums[0]:.2f}; "
        f"{_spread(result['ratios_of_seeds'][language])} of nine in ten seeds)"
        for language, sums in result["mean_builds"].items()
    )
    lines = [
        "",
        "Builds until a search has 95 % of the speedup that searches without a ReGraph end with, "
        f"median of {result['seeds']} seeds, in recorded searches of beginner's kernels "
        "(`benchmarks/regraph_replay.py`, `benchmarks/data/`): with a ReGraph learned on a random "
        "half of the kernels, another one each seed, the other half needs "
        f"{with_it:g} of {without:g} builds in all ({with_it / without:.2f}); median ratio "
        f"{several:.2f} where more than one build is needed, {result['median_ratio']:.2f} of all "
        f"(target {result['target']:.2f}). By language, from means in place of medians: {means}. "
        f"{_left_to_save(result)} "
        "The constants of what ways are worth (`search/regraph/way_worth.py`) were chosen on the "
        "Triton kernels argmax, gemm, layernorm, stencil and reduction "
        f"({_chosen(result):.2f}); the "
        f"other Triton kernels had no part in it ({_chosen(result, other=True):.2f}).",
        "",
        "| kernel | final speedup | builds without | with a ReGraph | ratio |",
        "|---|---|---|---|---|",
        *(
            f"| {row['kernel']} | {row['final_speedup']:.3g}x | {row['builds_without']:g} "
            f"| {row['builds_with']:g} | {row['ratio']:.2f} |"
            for row in result["kernels"]
        ),
    ]
    return "\n".join([*lines, ""])


def _left_to_save(result: Mapping[str, Any]) -> str:
    """What could be saved at all, and what more kernels to learn from would bring."""
    told = "; ".join(
        f"{language}: {left['kernels']} of {left['of']} kernels, which need "
        f"{left['ratio_of_these']:.2f} of their builds with a ReGraph; of the {left['builds']:g} "
        f"builds beyond one a kernel {left['with']:.2f} are still needed, and "
        f"{left['with_all_others']:.2f} where all other kernels were learned from in place of a "
        f"half, which makes {_with_all_others(result, language):.2f} of all builds"
        for language, left in result["of_what_is_left_to_save"].items()
    )
    return f"Kernels with anything left to save, {told}."


def _with_all_others(result: Mapping[str, Any], language: str) -> float:
    return result["mean_builds_with_all_others"][language] / result["mean_builds"][language][0]


CHOSEN_ON = frozenset(
    {"argmax_triton", "gemm_triton", "layernorm_triton", "stencil_triton", "triton_reduction"}
)


def _chosen(result: Mapping[str, Any], *, other: bool = False) -> float:
    """Builds with a ReGraph over those without of the Triton kernels that constants were chosen on,
    or of the other ones."""
    rows = [
        row
        for row in result["kernels"]
        if row["language"] == "triton" and (row["kernel"] in CHOSEN_ON) is not other
    ]
    sides = [sum(row[f"mean_builds_{side}"] for row in rows) for side in ("with", "without")]
    return sides[0] / sides[1] if rows else math.nan


def _spread(ratios: Sequence[float]) -> str:
    return f"{ratios[0]:.2f} to {ratios[-1]:.2f}"


def _kernels(result: Mapping[str, Any], language: str) -> int:
    return sum(row["language"] == language for row in result["kernels"])


def _mean_of(value: Mapping[str, float], form: str) -> str:
    return f"{value['mean']:{form}} ({value['low']:{form}} to {value['high']:{form}})"
