"""CUDA and C++ files as strangers type them (`strangers/`): what `spec --infer` leaves open, how
much is read, which algorithms are written anew, and whether what is written is right.

    python benchmarks/strangers.py HALF [--name NAME] [--only WORD] [--shown]

HALF is `developed`, on which readers and schedules were mended, or `held_out`, of which counts
alone are printed. First candidates run beside the original at sizes that all differ: CUDA on the
pretended GPU, C++ on the host. Nothing is timed; needs NVRTC and g++. Result: results/NAME.json, a
half anew."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import numpy as np
from environment import RESULTS, ROOT, write
from public_kernels import opened, share
from public_kernels_right import HEADERS, NEAR
from unequal_shapes import unequal_shapes

from kernelwright.runners.c_source.needed_part import needed_part
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.inferring.found_parameters import base_name
from kernelwright.runners.inferring.readers import entries
from kernelwright.runners.loading.completing import kernel_kind
from kernelwright.runners.loading.domains import with_domains, with_usual_numbers
from kernelwright.runners.loading.files import LoadedKernel, Roots, draft_of_file
from kernelwright.runners.model import Candidate
from kernelwright.runners.specs.expressions import evaluate_int
from kernelwright.search.applying.apply import apply
from kernelwright.search.moves import IDIOMS, MOVES, NotApplicable, State
from kernelwright.tools.parts.lifted_draft import reading, with_lift

sys.path.insert(0, str(ROOT / "tests" / "support"))
HALVES = ("developed", "held_out")
NEAR_BF16 = 2**-7
CPU_S, PATIENCE_S = 90, 900.0
"""for one kernel, of its process and by the clock: a machine may be busy"""


@dataclass(frozen=True)
class Look:
    """What became of one file. `candidates`: the first of each schedule that proposes something."""

    row: dict[str, Any]
    state: State | None = None
    candidates: Mapping[str, Candidate] = field(default_factory=dict[str, Candidate])


def main() -> None:
    """Look at one half, print what became of it, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", choices=HALVES)
    parser.add_argument("--only", default="", help="files whose name has this word")
    parser.add_argument("--name", default="strangers")
    parser.add_argument("--shown", action="store_true", help="print rows in full")
    asked = parser.parse_args()
    from cuda_moves import PretendedLab
    from pretend_gpu import pretended_gpu

    rows = dict[str, dict[str, Any]]()
    folder = ROOT / "benchmarks" / "strangers" / asked.half
    with (
        tempfile.TemporaryDirectory() as runs,
        pretended_gpu(Path(runs), twins=Path(runs) / "twins") as gpu,
    ):
        lab = PretendedLab(gpu, Path(runs) / "runs")
        for file in sorted(f for f in folder.iterdir() if asked.only in f.name):
            look = _patiently(file)
            rows[file.name] = row = {**look.row, "runs": _runs(look, lab, Path(runs))}
            if asked.half == "developed" or asked.shown:
                kept = row if asked.shown else {k: row[k] for k in ("spec", "lift", "why", "runs")}
                print(file.name, json.dumps(kept)[: None if asked.shown else 400], flush=True)
        lab.close()
    told = {kind: _counted(rows, kind) for kind in (".cu", ".cpp")}
    print(json.dumps(told, indent=1))
    if not asked.only:
        kept_at = RESULTS / f"{asked.name}.json"
        text = kept_at.read_text(encoding="utf-8") if kept_at.exists() else "{}"
        before = cast("dict[str, Any]", json.loads(text))
        others = {n: r for n, r in before.items() if n != "environment"}
        print(write(asked.name, {**others, asked.half: {**told, "rows": rows}}))


def _patiently(file: Path) -> Look:
    """A file's look, taken by a process of its own: it may never end."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_told, args=(there, file))
    process.start()
    there.close()
    look = _lost(f"no answer within {CPU_S} s of a core")
    try:
        if here.poll(PATIENCE_S):
            look = here.recv()
    except EOFError:
        pass
    process.kill()
    process.join()
    return look


def _told(there: Connection, file: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    there.send(look_at(file))


def _lost(why: str) -> Look:
    return Look({"spec": "refused", "lift": "none", "rewrites": [], "why": why})


def look_at(file: Path) -> Look:
    """What becomes of a file's last kernel, from `spec --infer` to what schedules propose."""
    source = file.read_text(encoding="utf-8")
    kernel = entries(source, kernel_kind(file.name))[-1]
    try:
        drafted = draft_of_file(file, Roots([file.parent]), kernel)
    except KernelwrightError as error:
        return _lost(str(error).splitlines()[0])
    lifted, _ = with_usual_numbers(with_domains(with_lift(drafted, source)))
    beside = [line for line in lifted.undecided if not line.startswith("workloads.")]
    row = _read(reading(drafted, source)) | {
        "spec": f"{len(beside)} open" if beside else "complete",
        "fields": [line.partition(":")[0] for line in beside],
        "rewrites": [],
    }
    loaded = "" if beside else opened(lifted, file)
    if isinstance(loaded, str):
        return Look(row | ({"spec": "not legal", "refused": {"spec": loaded}} if loaded else {}))
    return _proposed(row, loaded, kernel)


def _read(found: Any) -> dict[str, Any]:
    if isinstance(found, str):
        return {"lift": "none", "why": found}
    return {"lift": share(found), "why": "; ".join(found.opaque)}


def _proposed(row: dict[str, Any], loaded: LoadedKernel, kernel: str) -> Look:
    """`row` with what is proposed. A CUDA kernel runs without the rest of its file, whose host code
    the pretended GPU does not have."""
    base, language = loaded.baseline(), loaded.spec.kernel.language
    state = State(
        language.kernel_type, base.source, base.parameters, base.options, loaded.spec, base.plan,
        files=loaded.files,
    )  # fmt: skip
    found, refused = dict[str, Candidate](), dict[str, str]()
    for move in MOVES:
        if move.id not in IDIOMS or language.kernel_type not in move.languages:
            continue
        answer = move.propose(state)
        if isinstance(answer, NotApplicable):
            refused[move.id] = answer.reason
        elif answer:
            found[move.id] = answer[0]
    row |= {"rewrites": sorted(found), "refused": {} if found else refused}
    if language.on_gpu and found:
        state = replace(state, source=needed_part(base.source, base_name(kernel), HEADERS))
        again = {m.id: m.propose(state) for m in MOVES if m.id in found}
        found = {n: a[0] for n, a in again.items() if not isinstance(a, NotApplicable) and a}
    return Look(row, state, found)


def _runs(look: Look, lab: Any, folder: Path) -> dict[str, str]:
    """By rewrite: `right`, `wrong: how`, or `not run: why`."""
    found = dict[str, str]()
    if look.state is None:
        return found
    shapes = unequal_shapes(look.state.spec)
    kinds = {a.name: a.dtype for a in look.state.spec.io.arguments}
    for name, candidate in look.candidates.items():
        states = [look.state, apply(candidate, look.state)]
        run = _on_gpu if look.state.language.on_gpu else _on_host
        try:
            plain, written = run(states, shapes, lab, folder)
            for got, wanted in zip(written, plain, strict=True):
                for argument, value in wanted.items():
                    one, other, near = got[argument], value, NEAR
                    if kinds[argument] == "bfloat16":
                        one, other, near = _floats(one), _floats(other), NEAR_BF16
                    np.testing.assert_allclose(one, other, rtol=near, atol=near, err_msg=argument)
        except AssertionError as error:
            why = " ".join(str(error).split())[:300]
            found[name] = f"wrong: {why}" if "Mismatched" in why else f"not run: {why}"
        except Exception as error:
            found[name] = f"not run: {type(error).__name__}: {str(error)[:400]}"
        else:
            found[name] = "right"
    return found


def _floats(bits: Any) -> Any:
    """The values of bfloat16."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _on_gpu(states: list[State], shapes: list[dict[str, int]], lab: Any, folder: Path) -> Any:
    roles = ("input", "inout")
    runs = [
        (shape, {n: v for n, v in _filled(states[0], shape, roles).items()}) for shape in shapes
    ]
    return [lab.outputs(state, *runs) for state in states]


def _on_host(states: list[State], shapes: list[dict[str, int]], lab: Any, folder: Path) -> Any:
    from host_harness import call, compiled

    entry = states[0].spec.kernel.metadata.kernel_name
    own = Path(tempfile.mkdtemp(dir=folder))
    functions = compiled([state.source for state in states], entry, own)
    found = list[list[dict[str, Any]]]()
    for function in functions:
        runs = list[dict[str, Any]]()
        for shape in shapes:
            arrays = _filled(states[0], shape, ("input", "output", "inout"))
            given = [
                arrays[a.name] if a.name in arrays else np.array(_value(a.value, shape), a.dtype)
                for a in states[0].spec.io.arguments
            ]
            call(function, *given)
            written = {a.name for a in states[0].spec.io.arguments if a.role in ("output", "inout")}
            runs.append({n: each for n, each in arrays.items() if n in written})
        found.append(runs)
    return found


def _value(value: Any, shape: Mapping[str, int]) -> float:
    return evaluate_int(value, shape) if isinstance(value, str) else value


def _filled(state: State, shape: Mapping[str, int], roles: tuple[str, ...]) -> dict[str, Any]:
    """Arrays of these roles by name, filled as the spec says, floats also below zero."""
    found = dict[str, Any]()
    for at, argument in enumerate(state.spec.io.arguments):
        if argument.role not in roles:
            continue
        sizes = tuple(evaluate_int(size, shape) for size in argument.shape)
        random = np.random.default_rng(at + 3)
        if argument.dtype == "bfloat16":
            bits = random.standard_normal(sizes).astype(np.float32).view(np.uint32) >> 16
            found[argument.name] = bits.astype(np.uint16)
        elif argument.dtype.startswith("float"):
            found[argument.name] = random.standard_normal(sizes).astype(argument.dtype)
        else:
            init = argument.filled
            low, high = (int(getattr(init, n, d)) for n, d in (("low", 0), ("high", 8)))
            found[argument.name] = random.integers(low, high, sizes).astype(argument.dtype)
    return found


def _counted(rows: Mapping[str, Mapping[str, Any]], kind: str) -> dict[str, Any]:
    """Shares of the files of one kind."""
    some = [row for name, row in rows.items() if name.endswith(kind)]
    outcomes = Counter(told.split(":")[0] for row in some for told in row["runs"].values())
    return {
        "files": len(some),
        "spec complete": sum(row["spec"] == "complete" for row in some),
        "read whole": sum(row["lift"] == "whole" for row in some),
        "get a rewrite": sum(bool(row["rewrites"]) for row in some),
        "rewrites run": dict(outcomes),
    }


if __name__ == "__main__":
    main()
