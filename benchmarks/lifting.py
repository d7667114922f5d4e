"""How much of plain CUDA kernels is lifted, and of rule-made respellings of them; needs no GPU.

    .venv/bin/python benchmarks/lifting.py

A lift is `whole`, `part` (something in it is opaque), `none` (all is), or `disagrees`: the
interpreter gives something else than numpy. Writes `results/lifting.json`.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from lifting_blocks import TOGETHER, TOGETHER_HELD_OUT, Together
from lifting_kernels import COLS, DEVELOPED, HELD_OUT, RESPELLINGS, ROWS, SIZES, Plain

from kernelwright.analysis.lift import Argument, lift, lifted_text
from kernelwright.analysis.lift.expressions import Unreadable
from kernelwright.analysis.lift.interpreting import Disagrees, run
from kernelwright.analysis.lift.statements import Lifted
from kernelwright.analysis.ptx import read_ptx
from kernelwright.runners.toolchains.compilers.plain_ptx import plain_ptx

BLOCK = 32
Fate = tuple[str, str, str]
"""whole, part, none, disagrees or not built; why; the text of a whole lift"""
RESULTS = Path(__file__).parent / "results" / "lifting.json"
ARGUMENTS = (
    *(Argument(name, "float32", array=True) for name in ("a", "b", "y")),
    *(Argument(name, "int32", array=False) for name in SIZES),
)


def main() -> None:
    """Lift everything, print the shares, and write them down."""
    report = dict[str, object]()
    with tempfile.TemporaryDirectory() as folder:
        for title, kernels in (("developed", DEVELOPED), ("held out", HELD_OUT)):
            plain = {n: judged(k, k.source, Path(folder)) for n, k in kernels.items()}
            respelled = {
                f"{name}, {rule}": judged(kernel, text, Path(folder))
                for name, kernel in kernels.items()
                for rule, respell in RESPELLINGS.items()
                if (text := respell(kernel.source)) != kernel.source
            }
            for kind, found in ((title, plain), (f"{title}, respelled", respelled)):
                report[kind] = told = shares(found, plain)
                print(kind, json.dumps(told, indent=1))
        for title, kernels in (
            ("together, developed", TOGETHER),
            ("together, held out", TOGETHER_HELD_OUT),
        ):
            found = {n: judged(k, k.source, Path(folder)) for n, k in kernels.items()}
            report[title] = told = shares(found, found)
            print(title, json.dumps(told, indent=1))
    RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def shares(found: dict[str, Fate], plain: dict[str, Fate]) -> dict[str, object]:
    """How many of which fate, how many with the very text of the plain spelling, and why others are
    not whole."""
    same = sum(
        fate == "whole" and text == plain[name.partition(",")[0]][2]
        for name, (fate, _, text) in found.items()
    )
    others = {n: f"{fate}: {why}" for n, (fate, why, _) in found.items() if fate != "whole"}
    fates = Counter(fate for fate, _, _ in found.values())
    return {"kernels": len(found), **fates, "same text": same, "not whole": others}


def judged(kernel: Plain | Together, source: str, folder: Path) -> Fate:
    """What became of a source."""
    block = kernel.block if isinstance(kernel, Together) else (BLOCK,)
    if "threadIdx.y" in source and isinstance(kernel, Plain):
        block = (1, BLOCK)
    made = plain_ptx(source, "f", folder, defines={})
    if not isinstance(made, tuple):
        return "not built", made.message, ""
    ptx, entry = made
    lifted = lift(read_ptx(ptx), entry, ARGUMENTS, block)
    if lifted.opaque:
        alone = all(line.strip().startswith(("opaque", "once", "for", "when"))
                    for line in lifted_text(lifted).splitlines())  # fmt: skip
        return ("none" if alone else "part"), "; ".join(lifted.opaque), ""
    wrong = difference(kernel, lifted)
    return ("disagrees" if wrong else "whole"), wrong, lifted_text(lifted)


def difference(kernel: Plain | Together, lifted: Lifted) -> str:
    """How the interpreted lift differs from what the kernel means, "" where it does not."""
    given = np.random.default_rng(5).normal(size=(2, ROWS, COLS)).astype(np.float32)
    given[0, 0, 0], given[1, 1, 1] = -0.0, 30.0
    y = np.zeros(ROWS * COLS, dtype=np.float32)
    blocks = -(-ROWS * COLS // BLOCK)
    grid = (*kernel.grid, 1, 1) if isinstance(kernel, Together) else (blocks, blocks, 1)
    launched = {**SIZES, **{f"nctaid.{axis}": n for axis, n in zip("xyz", grid, strict=False)}}
    try:
        run(lifted, launched, {"a": given[0].ravel(), "b": given[1].ravel(), "y": y})
    except (Disagrees, Unreadable) as error:
        return str(error)
    wanted = kernel.means(*given.astype(np.float64)).ravel()
    near = np.allclose(y[: wanted.size], wanted, rtol=1e-4, atol=1e-5)
    return "" if near else f"{y[:4]} where {wanted[:4]} is right"


if __name__ == "__main__":
    main()
