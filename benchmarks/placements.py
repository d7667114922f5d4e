"""How often intervals of a confirmation hold one placement more, and how often equal code is told
apart; on recorded blocks, and on simulated ones.

    python benchmarks/placements.py [DRAWS]                 (default 400; a minute)
    python benchmarks/placements.py --record [PLACEMENTS]   (default 60; needs a machine for itself)

Recorded are blocks of `placed_kernels.py`, each in a placement of its own, with ROUNDS samples a
side, of which only those count in which nobody was held up. A draw takes some placements, of each
as many samples as a comparison takes (`NATIVE.rounds`), and one placement more with all of its
samples (simulated: without noise): what a user sees who repeats calls. `held` is the share of draws
in which the told interval has that one, `middle` the same of the interval that is judged by, which
does not claim it; `told` counts judgements. Simulated placements are normal, of two kinds (one in
five is 20 % slower), or alike; samples scatter by 3 %, one in twenty by ten times as much.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from environment import ROOT, environment, write
from fidelity_lab import Lab
from placed_kernels import PAIRS, Pair

from kernelwright.runners.comparing.placements import placed
from kernelwright.runners.comparing.settling import NATIVE, tell
from kernelwright.runners.comparing.timing import WorkloadBlocks, log_ratios

RECORDED = ROOT / "benchmarks" / "data" / "placed_blocks.json.gz"
ROUNDS = 13
COUNTS = (4, 6, 8, 15, 30)
FEWEST = 12
"""recorded placements, below which nothing is drawn from them"""
MANY = 5
"""undisturbed samples a side, from which on a recorded placement is known well enough to be held
against an interval"""
SIDES = ("fast", "slow")
Samples = dict[str, Sequence[float]]
Draw = Callable[[np.random.Generator, int], list[Samples]]
"""So many placements: nanoseconds by side; of the last one the truth."""


def main() -> None:
    """Record, or draw, print and write."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--record"]:
        record(int(arguments[1]) if len(arguments) > 1 else 60)
        return
    draws = int(arguments[0]) if arguments else 400
    kept = json.loads(gzip.decompress(RECORDED.read_bytes()))
    equal = {pair.name: pair.equal for pair in PAIRS}
    rows = list[dict[str, Any]]()
    for name, blocks in kept["blocks"].items():
        if len(blocks) >= FEWEST and any(min(map(len, b.values())) >= MANY for b in blocks):
            rows += simulated(name, equal[name], of_recorded(blocks), draws, len(blocks))
    for name, draw in PLANTED.items():
        rows += simulated(f"planted: {name}", name == "alike, equal", draw, draws, max(COUNTS) + 1)
    print(write("placements", {"recorded_on": kept["environment"], "draws": draws, "rows": rows}))


def record(placements: int) -> None:
    """Write blocks of every pair."""
    found = dict[str, list[Samples]]()
    for pair in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            found[pair.name] = recorded(pair, Path(folder), placements)
        print(f"{pair.name}: {len(found[pair.name])} of {placements} undisturbed", flush=True)
    kept = {"environment": environment(), "rounds": ROUNDS, "blocks": found}
    RECORDED.write_bytes(gzip.compress(json.dumps(kept).encode(), mtime=0))


def recorded(pair: Pair, folder: Path, placements: int) -> list[Samples]:
    """Blocks of one pair, in whole nanoseconds."""
    lab = Lab(pair, folder, None)
    try:
        for side, knob in zip(SIDES, (1, 0), strict=True):
            lab.load(side, knob, check=True)
        clean = lab.placed_blocks(SIDES, placements, ROUNDS).samples
    finally:
        lab.close()
    pairs = zip(*(clean.get(side, ()) for side in SIDES), strict=True)
    return [{s: [round(ns) for ns in b] for s, b in zip(SIDES, p, strict=True)} for p in pairs]


def of_recorded(blocks: Sequence[Samples]) -> Draw:
    """Placements drawn without putting back; the last is one with many samples."""
    known = [i for i, each in enumerate(blocks) if min(map(len, each.values())) >= MANY]

    def draw(rng: np.random.Generator, count: int) -> list[Samples]:
        one = int(rng.choice(known))
        others = [i for i in rng.permutation(len(blocks)) if i != one]
        return [blocks[i] for i in (*others[: count - 1], one)]

    return draw


def planted(spread: float, odd: float = 0.0, gain: float = 1.5, scatter: float = 0.03) -> Draw:
    """Placements with a spread of their log ratios, and a share of 20 % slower ones."""

    def side(rng: np.random.Generator, ns: float) -> Sequence[float]:
        noise = rng.normal(0, scatter, ROUNDS)
        noise[rng.random(ROUNDS) < 0.05] *= 10
        return [float(x) for x in ns * np.exp(noise)]

    def draw(rng: np.random.Generator, count: int) -> list[Samples]:
        worths = gain * np.exp(rng.normal(0, spread, count))
        worths[rng.random(count) < odd] *= 0.8
        found = [{"fast": side(rng, 1e5 / w), "slow": side(rng, 1e5)} for w in worths]
        return [*found[:-1], {"fast": [1e5 / float(worths[-1])], "slow": [1e5]}]

    return draw


PLANTED: Mapping[str, Draw] = {
    "normal, 10 %": planted(0.1),
    "normal, 3 %": planted(0.03),
    "two kinds": planted(0.01, odd=0.2),
    "alike": planted(0.0),
    "alike, very noisy": planted(0.0, scatter=0.2),
    "alike, equal": planted(0.0, gain=1.0),
}


def simulated(name: str, equal: bool, draw: Draw, draws: int, most: int) -> list[dict[str, Any]]:
    """A row for each number of placements that there are enough of."""
    rows = list[dict[str, Any]]()
    for count in (c for c in COUNTS if c < most):
        rng, tolds = np.random.default_rng(20261124), Counter[str]()
        held, middle, widths = 0, 0, list[float]()
        for _ in range(draws):
            *taken, one = draw(rng, count + 1)
            blocks = blocks_of(taken, rng)
            told = placed(tell([blocks], *SIDES, NATIVE, resamples=999), [blocks], *SIDES)
            assert told.placed is not None
            truth = float(log_ratios({s: [median(ns)] for s, ns in one.items()}, *SIDES)[0])
            held += told.placed.low <= truth <= told.placed.high
            middle += told.found.low <= truth <= told.found.high
            widths.append(told.placed.width)
            tolds[told.judgement] += 1
        row = {"of": name, "equal": equal, "placements": count, "told": dict(tolds)}
        row |= {"held": held / draws, "middle": middle / draws}
        row["width"] = round(float(np.expm1(median(widths))), 3)
        rows.append(row)
        print(line(row), flush=True)
    return rows


def blocks_of(taken: Sequence[Samples], rng: np.random.Generator) -> WorkloadBlocks:
    """Blocks as a comparison takes them: few of the samples, their median."""
    samples: dict[str, list[Sequence[float]]] = {side: list[Sequence[float]]() for side in SIDES}
    for each in taken:
        count = min(NATIVE.rounds, *(len(ns) for ns in each.values()))
        for side, ns in each.items():
            which = rng.permutation(len(ns))[:count]
            samples[side].append([float(ns[int(i)]) for i in which])
    ms = {side: [float(median(ns)) * 1e-6 for ns in rows] for side, rows in samples.items()}
    return WorkloadBlocks("w", 1.0, ms, samples=samples)


def line(row: Mapping[str, Any]) -> str:
    """A row for people."""
    tolds = ", ".join(f"{judged} {count}" for judged, count in sorted(row["told"].items()))
    return (
        f"{row['of']:28} {row['placements']:3} placements: held {row['held']:.0%} "
        f"(width {row['width']:.0%}), middle {row['middle']:.0%}; {tolds}"
    )


if __name__ == "__main__":
    main()
