"""Whether what is written anew of public kernels gives what they give: each first candidate of each
schedule beside the original, on the pretended GPU, at shapes whose sizes all differ, on random
inputs. Nothing is timed; needs NVRTC and g++.

    python benchmarks/public_kernels_right.py CHECKOUT CORPUS [--only WORD]

Corpora and kernels are those of `public_kernels.py`; those that get a rewrite by its results are
run. Both run without the rest of their files, whose host code the
pretended GPU does not have. Result: results/public_kernels_right.json, a corpus anew."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from environment import RESULTS, ROOT, write
from public_kernels import opened, state_of
from public_kernels_drawn import CORPORA, drawn_of
from unequal_shapes import unequal_shapes

from kernelwright.runners.c_source.needed_part import needed_part
from kernelwright.runners.c_source.own_headers import with_headers
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.inferring.found_parameters import base_name
from kernelwright.runners.loading.domains import with_domains, with_usual_numbers
from kernelwright.runners.loading.files import Roots, draft_of_file
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cuda.schedules import MOVES
from kernelwright.tools.parts.lifted_draft import with_lift

sys.path.insert(0, str(ROOT / "tests" / "support"))
HEADERS = frozenset({"cuda_fp16.h", "cuda_bf16.h", "math.h", "cmath", "cstdint", "stdint.h"})
NEAR = 2e-4
"""sums are taken in another order"""


def main() -> None:
    """Run what is written of each kernel, print and keep what is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("corpus", choices=sorted(CORPORA))
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    from cuda_moves import PretendedLab
    from pretend_gpu import pretended_gpu

    looked = json.loads((RESULTS / "public_kernels.json").read_text(encoding="utf-8"))
    rewritten = {n for n, row in looked[asked.corpus]["rows"].items() if row["rewrites"]}
    rows = dict[str, dict[str, str]]()
    with tempfile.TemporaryDirectory() as folder, pretended_gpu(Path(folder)) as gpu:
        lab = PretendedLab(gpu, Path(folder) / "runs")
        for each in drawn_of(asked.checkout, CORPORA[asked.corpus]):
            state = None
            if asked.only in each.name and each.name in rewritten:
                state = _alone(asked.checkout / each.file, each.kernel)
            if state is not None:
                rows[each.name] = found = _beside(lab, state)
                print(each.name, found, flush=True)
        lab.close()
    outcomes = Counter(told.split(":")[0] for row in rows.values() for told in row.values())
    told = {"rewrites": outcomes.total(), **outcomes, "rows": rows}
    if not asked.only:
        kept = RESULTS / "public_kernels_right.json"
        text = kept.read_text(encoding="utf-8") if kept.exists() else "{}"
        before = cast("dict[str, Any]", json.loads(text))
        others = {n: r for n, r in before.items() if n != "environment"}
        print(write("public_kernels_right", {**others, asked.corpus: told}))


def _alone(file: Path, kernel: str) -> State | None:
    """A kernel without the rest of its file; None where its spec is open."""
    try:
        draft = draft_of_file(file, Roots([file.parent]), kernel)
    except KernelwrightError:
        return None
    lifted, _ = with_usual_numbers(
        with_domains(with_lift(draft, file.read_text(encoding="utf-8", errors="replace")))
    )
    if any(not line.startswith("workloads.") for line in lifted.undecided):
        return None
    loaded = opened(lifted, file)
    if isinstance(loaded, str):
        return None
    state = state_of(loaded)
    whole = with_headers(state.source, state.files)
    return replace(state, source=needed_part(whole, base_name(kernel), HEADERS), files={})


def _beside(lab: Any, state: State) -> dict[str, str]:
    """By schedule: `right`, `wrong: how`, or `not run: why`."""
    from scheduled import written_beside

    shapes = unequal_shapes(state.spec)
    found = dict[str, str]()
    for move in MOVES:
        if isinstance(move.propose(state), NotApplicable):
            continue
        try:
            written_beside(lab, move, state, shapes, most=1, near=NEAR)
        except AssertionError as error:
            differs = "Mismatched elements" in str(error)
            why = " ".join(str(error).split())[:300]
            found[move.id] = f"wrong: {why}" if differs else f"not run: {why}"
        except Exception as error:
            found[move.id] = f"not run: {type(error).__name__}: {str(error)[:200]}"
        else:
            found[move.id] = "right"
    return found


if __name__ == "__main__":
    main()
