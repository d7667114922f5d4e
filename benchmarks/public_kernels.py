"""Kernels of public repositories, as a user would hand them over: what `spec --infer` leaves open,
how much is read, and which algorithms are written anew. Proposals alone: nothing is run or timed;
needs NVRTC and no GPU.

    python benchmarks/public_kernels.py CHECKOUT CORPUS [--name NAME] [--only WORD] [--shown]

CHECKOUT is a folder with the files of a repository of `public_kernels_drawn.py`, which says which
kernels are drawn of it and what they are for. Nothing of theirs is kept but names and outcomes.
Result: results/public_kernels.json, a corpus anew; with --name another file."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
from collections import Counter
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from environment import RESULTS, write
from public_kernels_drawn import CORPORA, Drawn, drawn_of

from kernelwright.analysis.lift import Lifted
from kernelwright.analysis.lift.text import lifted_text
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.loading.completing import Draft
from kernelwright.runners.loading.domains import with_domains, with_usual_numbers
from kernelwright.runners.loading.files import LoadedKernel, Roots, draft_of_file, load_data
from kernelwright.runners.loading.left_open import OPEN
from kernelwright.search.moves import IDIOMS, MOVES, NotApplicable, State
from kernelwright.tools.parts.lifted_draft import reading, with_lift

PATIENCE_S = 90.0
USUAL_SIZE = 64
"""of a call, where only its user knows one; what is proposed may hang on it"""


def main() -> None:
    """Look at each kernel of a corpus, print what became of it, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("corpus", choices=sorted(CORPORA))
    parser.add_argument("--only", default="", help="kernels whose file or name has this word")
    parser.add_argument("--name", default="public_kernels")
    parser.add_argument("--shown", action="store_true", help="print lifts and reasons in full")
    asked = parser.parse_args()
    rows = dict[str, dict[str, Any]]()
    for each in drawn_of(asked.checkout, CORPORA[asked.corpus]):
        if asked.only in each.name:
            rows[each.name] = row = _patiently(asked.checkout / each.file, each)
            print(each.name, "|", row["spec"], "|", row["lift"], "|", row["rewrites"], flush=True)
            if asked.shown:
                print(json.dumps(row, indent=1).replace("\\n", "\n"), flush=True)
    told = {**CORPORA[asked.corpus].told, **_counted(rows)}
    print(json.dumps(told, indent=1))
    if not asked.only:
        kept = RESULTS / f"{asked.name}.json"
        text = kept.read_text(encoding="utf-8") if kept.exists() else "{}"
        before = cast("dict[str, Any]", json.loads(text))
        found = {n: r for n, r in before.items() if n != "environment"}
        short = {n: {k: v for k, v in r.items() if k != "text"} for n, r in rows.items()}
        print(write(asked.name, {**found, asked.corpus: {**told, "rows": short}}))


def _patiently(file: Path, drawn: Drawn) -> dict[str, Any]:
    """A kernel's row, made by a process of its own: it may never end."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_told, args=(there, file, drawn))
    process.start()
    there.close()
    row = _lost(f"no answer within {PATIENCE_S:.0f} s")
    try:
        if here.poll(PATIENCE_S):
            row = here.recv()
    except EOFError:
        row = _lost("its process was lost")
    process.kill()
    process.join()
    return row


def _told(there: Connection, file: Path, drawn: Drawn) -> None:
    there.send(row_of(file, drawn.kernel))


def _lost(why: str) -> dict[str, Any]:
    return {"spec": "refused", "lift": "none", "rewrites": [], "why": why}


def row_of(file: Path, kernel: str) -> dict[str, Any]:
    """What becomes of one kernel."""
    try:
        drafted = draft_of_file(file, Roots([file.parent]), kernel)
    except KernelwrightError as error:
        return _lost(str(error).splitlines()[0])
    source = file.read_text(encoding="utf-8", errors="replace")
    read = reading(drafted, source)
    lifted, _ = with_usual_numbers(with_domains(with_lift(drafted, source)))
    beside = [line for line in lifted.undecided if not line.startswith("workloads.")]
    row: dict[str, Any] = {
        "spec": f"{len(beside)} open" if beside else "complete",
        "open": {"before": _open(drafted), "after": _open(lifted)},
        "fields": [line.partition(":")[0] for line in beside],
        "lift": "none" if isinstance(read, str) else share(read),
        "why": read if isinstance(read, str) else "; ".join(read.opaque),
        "text": "" if isinstance(read, str) else lifted_text(read),
        "rewrites": [],
    }
    return row if beside else row | _proposed(opened(lifted, file))


def _open(draft: Draft) -> int:
    """Fields beside the sizes of a real call, which only its user knows."""
    return sum(not line.startswith("workloads.") for line in draft.undecided)


def share(lifted: Lifted) -> str:
    if not lifted.opaque:
        return "whole"
    alone = ("opaque", "once", "for", "when")
    lines = lifted_text(lifted).splitlines()
    return "none" if all(line.strip().startswith(alone) for line in lines) else "part"


def opened(draft: Draft, file: Path) -> LoadedKernel | str:
    """The kernel that a user would open; why it cannot be."""
    workloads = [
        {**w, "symbols": {n: USUAL_SIZE if v == OPEN else v for n, v in w["symbols"].items()}}
        for w in draft.data["workloads"]
    ]
    try:
        return load_data({**draft.data, "workloads": workloads}, file.parent, Roots([file.parent]))
    except KernelwrightError as error:
        return str(error)


def _proposed(loaded: LoadedKernel | str) -> dict[str, Any]:
    if isinstance(loaded, str):
        return {"spec": "not legal", "refused": {"spec": loaded}}
    state = state_of(loaded)
    found, refused = list[str](), dict[str, str]()
    for move in MOVES:
        if move.id in IDIOMS and state.language.kernel_type in move.languages:
            answer = move.propose(state)
            if isinstance(answer, NotApplicable):
                refused[move.id] = answer.reason
            elif answer:
                found.append(move.id)
    return {"rewrites": found, "refused": {} if found else refused}


def state_of(loaded: LoadedKernel) -> State:
    """The kernel as it was handed over."""
    base = loaded.baseline()
    return State(
        "cuda", base.source, base.parameters, base.options, loaded.spec, base.plan,
        files=loaded.files,
    )  # fmt: skip


def _counted(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Shares, and the reasons of what is left, without names and numbers."""
    reasons = Counter(_class(str(r["why"])) for r in rows.values() if r["lift"] != "whole")
    fields = Counter(field.split(".")[-1] for r in rows.values() for field in r.get("fields", ()))
    return {
        "kernels": len(rows),
        "lift": Counter(str(r["lift"]) for r in rows.values()),
        "spec complete but for sizes": sum(r["spec"] == "complete" for r in rows.values()),
        "get a rewrite": sum(bool(r["rewrites"]) for r in rows.values()),
        "why not whole": dict(reasons.most_common()),
        "open fields": dict(fields.most_common()),
    }


def _class(why: str) -> str:
    """A reason as one of a class."""
    first = why.split(";")[0].splitlines()[0] if why else ""
    return re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\b\d+\b", "_", first)[:110]


if __name__ == "__main__":
    main()
