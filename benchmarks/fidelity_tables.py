"""How often comparisons err, in Markdown: `readme_table.py` puts it into documents."""

from __future__ import annotations

from typing import Any

from gpu_tables import place

Result = dict[str, Any]


def fidelity(result: Result) -> str:
    """timing_fidelity*.json: a kernel against itself, planted differences, and do_bench."""
    found, host = result["environment"], result.get("tier") == "native"
    cores = f"{found['cores']} cores of an {found['cpu']}, {found['date']}" if host else ""
    kernels = result["kernels"]
    both = [k["aa"]["summary"] for k in kernels.values() if "summary" in k.get("aa", {})]
    wrong = sum(each["faster"] + each["slower"] for each in both)
    compared = sum(each["count"] for each in both)
    lines = [
        "",
        f"Comparisons of machine code with itself, loaded separately, and with a known share of "
        f"work more (`benchmarks/timing_fidelity.py`; {cores or place(result)}; resolution "
        f"{100 * result['resolution']:.2g} %). Of {compared} comparisons of equal code {wrong} "
        "said `faster` or `slower`.",
        "",
        "| kernel | what | true difference | comparisons | faster | slower | blocks | time, ms "
        f"| {'GPU time, ms' if not host else 'dropped blocks'} |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, kernel in kernels.items():
        lines += [_line(name, *row, host) for row in _rows(kernel)]
    if bench := [_bench(name, k["do_bench"]) for name, k in kernels.items() if "do_bench" in k]:
        lines += [
            "",
            "The same machine code by `triton.testing.do_bench`, deciding by a threshold of 1 %:",
            "",
            "| kernel | what | comparisons | faster | slower | largest difference | time, ms |",
            "|---|---|---|---|---|---|---|",
            *(line for each in bench for line in each),
        ]
    return "\n".join([*lines, ""])


def settling(result: Result) -> str:
    """settling.json: the schedule of comparisons on simulated noise."""
    rows = [r for r in result["rows"] if r["luck"] == min(x["luck"] for x in result["rows"])]
    usual = min({r["reload_every"] for r in rows if r["true"] < 0})
    chosen = [r for r in rows if r["reload_every"] == usual and r["true"] in (0, 0.009, 0.018)]
    equal = [r for r in chosen if r["true"] == 0]
    wrong = sum(r["faster"] + r["slower"] for r in equal)
    lines = [
        "",
        f"The schedule on simulated noise (`benchmarks/settling.py`, "
        f"{result['environment']['date']}): {wrong} false verdicts in "
        f"{sum(r['comparisons'] for r in equal)} comparisons of equal sides. The small kernel "
        "below was recorded with a spread of "
        f"{100 * result['recorded']['small']['standard_deviation']:.2g} % in blocks twice as "
        "long as those of a comparison.",
        "",
        "| spread of blocks | true difference | comparisons | faster | slower | blocks, mean "
        "| blocks, 90 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in chosen:
        cells = (
            f"{100 * r['spread']:.2g} %",
            f"{100 * r['true']:.2g} %",
            *(str(r[k]) for k in ("comparisons", "faster", "slower", "mean_blocks")),
            str(r["blocks_at_90_percent"]),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _loads(result["rows"]), ""])


def _loads(rows: list[Result]) -> str:
    """What loading anew does to equal sides whose loads differ by more than the resolution."""
    lucky = [r for r in rows if r["luck"] == max(x["luck"] for x in rows)]
    told = (
        f"{r['faster'] + r['slower']} of {r['comparisons']} where code is loaded every "
        f"{_blocks(r['reload_every'])}"
        for r in lucky
        if r["reload_every"] < 60
    )
    never = next(r for r in lucky if r["reload_every"] == 60)
    return (
        f"If two loads of the same code differ by up to {100 * never['luck']:.2g} %, false "
        f"verdicts are {', '.join(told)}, and {never['faster'] + never['slower']} of "
        f"{never['comparisons']} if it is never loaded anew."
    )


def _blocks(count: int) -> str:
    return "block" if count == 1 else f"{count} blocks"


def _rows(kernel: Result) -> list[tuple[str, str, Result]]:
    found = list[tuple[str, str, Result]]()
    if "summary" in kernel.get("aa", {}):
        found.append(("itself", "0", kernel["aa"]["summary"]))
    for wanted, entry in kernel.get("planted", {}).items():
        if "summary" in entry:
            true = f"{100 * entry['true']:.3g} % ({100 * entry['low']:.3g} to "
            true += f"{100 * entry['high']:.3g})"
            found.append((f"{100 * float(wanted):.2g} % more", true, entry["summary"]))
    return found


def _line(name: str, what: str, true: str, found: Result, host: bool) -> str:
    last = found["mean_dropped"] if host else 1e3 * found["mean_busy_s"]
    cells = (
        name,
        what,
        true,
        *(str(found[key]) for key in ("count", "faster", "slower")),
        f"{found['mean_blocks']:.3g}",
        f"{1e3 * found['mean_seconds']:.3g}",
        f"{last:.3g}",
    )
    return f"| {' | '.join(cells)} |"


def _bench(name: str, found: Result) -> list[str]:
    lines = list[str]()
    for what, entry in found.items():
        if "summary" not in entry:
            continue
        each = entry["summary"]
        cells = (
            name,
            "itself" if what == "aa" else f"{100 * float(what):.2g} % more",
            *(str(each[key]) for key in ("count", "faster", "slower")),
            f"{100 * each['largest']:.2g} %",
            f"{1e3 * each['mean_seconds']:.3g}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines
