"""The ladders that scripted planners answer with: every step is right, and leads to the next."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from cuda_moves import PretendedLab, after
from tiers import cases

from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.applying.sent import SentCandidate
from kernelwright.search.moves.shared.base import State

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LADDERS = BENCHMARKS / "ladders"
SPECS = {"sgemm": "gemm", "softmax": "softmax", "rmsnorm": "rmsnorm"}
SIZES: dict[str, list[dict[str, int]]] = {
    "sgemm": [{"M": 33, "N": 130, "K": 19}, {"M": 128, "N": 4, "K": 16}],
    "softmax": [{"rows": 9, "cols": 37}, {"rows": 3, "cols": 520}],
    "rmsnorm": [{"rows": 9, "cols": 37}, {"rows": 3, "cols": 520}],
}


def expected(kernel: str, inputs: dict[str, Any], sizes: dict[str, int]) -> Any:
    if kernel == "sgemm":
        left = inputs["a"].reshape(sizes["M"], sizes["K"]).astype(float)
        return left @ inputs["b"].reshape(sizes["K"], sizes["N"])
    x = inputs["x"].reshape(sizes["rows"], sizes["cols"]).astype(float)
    if kernel == "softmax":
        terms = np.exp(x - x.max(1, keepdims=True))
        return terms / terms.sum(1, keepdims=True)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * inputs["weight"]


def inputs_of(kernel: str, sizes: dict[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    s = dict(sizes)
    shapes = {
        "sgemm": {"a": ("M", "K"), "b": ("K", "N")},
        "softmax": {"x": ("rows", "cols")},
        "rmsnorm": {"x": ("rows", "cols"), "weight": ("cols",)},
    }[kernel]
    drawn = {name: rng.standard_normal([s[d] for d in dims]) for name, dims in shapes.items()}
    return {name: values.astype(np.float32) for name, values in drawn.items()}


def answer(kernel: str, source: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, str(LADDERS / "answer.py"), str(LADDERS / kernel)],
        input=json.dumps({"source": source}),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return json.loads(done.stdout)["candidates"]


@cases(
    "kernel",
    SIZES,
    why="further ladders of the benchmark",
)
def test_every_step_of_a_ladder_computes_the_same_and_the_last_has_no_next(
    kernel: str, lab: PretendedLab
) -> None:
    path = BENCHMARKS / "kernels" / SPECS[kernel] / "cuda.json"
    loaded = load_file(path, Roots([path.parent]))
    state = State("cuda", loaded.source, {}, BuildOptions(), loaded.spec)
    runs = [(sizes, inputs_of(kernel, sizes)) for sizes in SIZES[kernel]]
    steps = sorted((LADDERS / kernel).glob("*.cu"))
    for step in steps:
        (sent,) = answer(kernel, state.source)
        assert sent["source"] == step.read_text(encoding="utf-8")
        given = SentCandidate.model_validate(sent).model_dump(exclude_none=True)
        state = after(state, Candidate.model_validate(given))
        for (sizes, inputs), outputs in zip(runs, lab.outputs(state, *runs), strict=True):
            (found,) = outputs.values()
            truth = expected(kernel, inputs, sizes).ravel()
            np.testing.assert_allclose(found, truth, rtol=2e-5, atol=2e-5, err_msg=step.name)
    assert answer(kernel, state.source) == []
