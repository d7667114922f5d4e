"""How much of plain CUDA, C++ and Triton kernels is lifted, and of rule-made respellings of them;
needs no GPU.

    .venv/bin/python benchmarks/lifting.py [--only cuda|cpp|triton] [--plain]

A lift is `whole`, `part` (something in it is opaque), `none` (all is), or `disagrees`: the
interpreter gives something else than numpy. Writes `results/lifting.json`, with `--only` the part
of that language anew; `--plain` leaves the respellings out and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import lifting_triton
import numpy as np
from lifting_blocks import TOGETHER, TOGETHER_HELD_OUT, Together
from lifting_host import HOST, HOST_HELD_OUT, HOST_RESPELLINGS, Host
from lifting_kernels import COLS, DEVELOPED, HELD_OUT, RESPELLINGS, ROWS, SIZES, Plain
from lifting_triton import TRITON, TRITON_HELD_OUT, TRITON_RESPELLINGS, Block

from kernelwright.analysis.lift import Argument, Lifted, lift
from kernelwright.analysis.lift.expressions import Unreadable
from kernelwright.analysis.lift.host import lift_host
from kernelwright.analysis.lift.interpreting import Disagrees, run
from kernelwright.analysis.lift.text import lifted_text
from kernelwright.analysis.lift.ttir import lift_ttir
from kernelwright.analysis.ptx import read_ptx
from kernelwright.runners.toolchains.compilers.plain_host import plain_host_ptx
from kernelwright.runners.toolchains.compilers.plain_ptx import plain_ptx

BLOCK = 32
Kernel = Plain | Together | Host | Block
Rules = Mapping[str, Callable[[str], str]]
Fate = tuple[str, str, str]
"""whole, part, none, disagrees or not built; why; the text of a whole lift"""
FATES = ("whole", "part", "none", "disagrees", "not built")
RESULTS = Path(__file__).parent / "results" / "lifting.json"
ARGUMENTS = (
    *(Argument(name, "float32", array=True) for name in ("a", "b", "y")),
    *(Argument(name, "int32", array=False) for name in SIZES),
)
GROUPS: tuple[tuple[str, str, Mapping[str, Kernel], Rules], ...] = (
    ("cuda", "developed", DEVELOPED, RESPELLINGS),
    ("cuda", "seen since held out", HELD_OUT, RESPELLINGS),
    ("cuda", "threads together, developed", TOGETHER, {}),
    ("cuda", "threads together, seen since held out", TOGETHER_HELD_OUT, {}),
    ("cpp", "developed", HOST, HOST_RESPELLINGS),
    ("cpp", "held out", HOST_HELD_OUT, HOST_RESPELLINGS),
    ("triton", "developed", TRITON, TRITON_RESPELLINGS),
    ("triton", "held out", TRITON_HELD_OUT, TRITON_RESPELLINGS),
)


def main() -> None:
    """Lift everything, print the shares, and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("cuda", "cpp", "triton"))
    parser.add_argument("--plain", action="store_true")
    asked = parser.parse_args()
    report: dict[str, dict[str, Any]] = {}
    if asked.only is not None and RESULTS.exists():
        report = json.loads(RESULTS.read_text(encoding="utf-8"))
    for language, title, kernels, rules in GROUPS:
        if asked.only not in (None, language):
            continue
        spelled = dict(_spellings(kernels, {} if asked.plain else rules))
        found = _fates(language, kernels, spelled)
        plain = {name: found[name] for name in kernels}
        respelled = {name: fate for name, fate in found.items() if name not in kernels}
        for kind, some in (("kernels", plain), ("respellings", respelled)):
            if some:
                name = f"{language}, {title}, {kind}"
                report[name] = told = shares(some, plain)
                print(name, json.dumps(told, indent=1), flush=True)
    report.pop("all", None)
    report["all"] = {kind: _added_up(report, kind) for kind in ("kernels", "respellings")}
    print(json.dumps(report["all"]))
    if not asked.plain:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _added_up(report: Mapping[str, Mapping[str, Any]], kind: str) -> dict[str, int]:
    """How many of which fate over all groups of kernels, or of respellings."""
    found = Counter[str]()
    for name, told in report.items():
        if name.endswith(kind):
            found.update({fate: told[fate] for fate in FATES if fate in told})
    return dict(found)


def _spellings(kernels: Mapping[str, Kernel], rules: Rules) -> Iterator[tuple[str, str]]:
    """Each kernel as it is, and as every rule that changes it spells it."""
    for name, kernel in kernels.items():
        yield name, kernel.source
        for rule, respell in rules.items():
            if (text := respell(kernel.source)) != kernel.source:
                yield f"{name}, {rule}", text


def shares(found: Mapping[str, Fate], plain: Mapping[str, Fate]) -> dict[str, Any]:
    """How many of which fate, how many with the very text of the plain spelling, and why others are
    not whole."""
    same = sum(
        fate == "whole" and text == plain[name.partition(",")[0]][2]
        for name, (fate, _, text) in found.items()
    )
    others = {n: f"{fate}: {why}" for n, (fate, why, _) in found.items() if fate != "whole"}
    fates = Counter(fate for fate, _, _ in found.values())
    return {"kernels": len(found), **fates, "same text": same, "not whole": others}


def _fates(
    language: str, kernels: Mapping[str, Kernel], spelled: Mapping[str, str]
) -> dict[str, Fate]:
    """What became of each spelling."""
    with tempfile.TemporaryDirectory() as folder:
        if language == "triton":
            read = _triton(spelled, Path(folder))
        else:
            read = {
                name: (_cuda if language == "cuda" else _host)(
                    kernels[name.partition(",")[0]], source, Path(folder)
                )
                for name, source in spelled.items()
            }
    return {n: judged(kernels[n.partition(",")[0]], lifted) for n, lifted in read.items()}


def _cuda(kernel: Kernel, source: str, folder: Path) -> Lifted | str:
    block = kernel.block if isinstance(kernel, Together) else (BLOCK,)
    if "threadIdx.y" in source and isinstance(kernel, Plain):
        block = (1, BLOCK)
    made = plain_ptx(source, "f", folder, defines={})
    if not isinstance(made, tuple):
        return made.message
    return lift(read_ptx(made[0]), made[1], ARGUMENTS, block)


def _host(kernel: Kernel, source: str, folder: Path) -> Lifted | str:
    made = plain_host_ptx(source, "f", folder, defines={})
    if not isinstance(made, tuple):
        return made.message
    return lift_host(read_ptx(made[0]), made[1], ARGUMENTS)


def _triton(spelled: Mapping[str, str], folder: Path) -> dict[str, Lifted | str]:
    """All of them by one process that has Triton."""
    for at, source in enumerate(spelled.values()):
        (folder / f"k{at}.py").write_text(source, encoding="utf-8")
    made = subprocess.run(
        [sys.executable, lifting_triton.__file__, str(folder)],
        capture_output=True, text=True, check=True, timeout=580,
    )  # fmt: skip
    texts = json.loads(made.stdout)
    found = dict[str, Lifted | str]()
    for at, (name, source) in enumerate(spelled.items()):
        text = str(texts[f"k{at}"])
        fits = {"rows": 16, "cols": 16} if "tl.arange(0, B)\n    m = c <" in source else {}
        found[name] = text[1:] if text[0] == "!" else lift_ttir(text, "f", ARGUMENTS, fits)
    return found


def judged(kernel: Kernel, lifted: Lifted | str) -> Fate:
    """What became of a kernel."""
    if isinstance(lifted, str):
        return "not built", lifted, ""
    if lifted.opaque:
        alone = all(line.strip().startswith(("opaque", "once", "for", "when"))
                    for line in lifted_text(lifted).splitlines())  # fmt: skip
        return ("none" if alone else "part"), "; ".join(lifted.opaque), ""
    wrong = difference(kernel, lifted)
    return ("disagrees" if wrong else "whole"), wrong, lifted_text(lifted)


def difference(kernel: Kernel, lifted: Lifted) -> str:
    """How the interpreted lift differs from what the kernel means, "" where it does not."""
    given = np.random.default_rng(5).normal(size=(2, ROWS, COLS)).astype(np.float32)
    given[0, 0, 0], given[1, 1, 1] = -0.0, 30.0
    y = np.zeros(ROWS * COLS, dtype=np.float32)
    blocks = -(-ROWS * COLS // BLOCK)
    grid = (blocks, blocks) if isinstance(kernel, Plain | Host) else kernel.grid
    launched = {
        **SIZES,
        **{f"nctaid.{axis}": n for axis, n in zip("xyz", (*grid, 1, 1), strict=False)},
    }
    try:
        run(lifted, launched, {"a": given[0].ravel(), "b": given[1].ravel(), "y": y})
    except (Disagrees, Unreadable) as error:
        return str(error)
    wanted = kernel.means(*given.astype(np.float64)).ravel()
    near = np.allclose(y[: wanted.size], wanted, rtol=1e-4, atol=1e-5)
    return "" if near else f"{y[:4]} where {wanted[:4]} is right"


if __name__ == "__main__":
    main()
