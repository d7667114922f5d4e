"""Triton kernels read from their TTIR: golden text, and what the interpreter makes of a lift."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.analysis.lift import Argument, Lifted
from kernelwright.analysis.lift.interpreting import run
from kernelwright.analysis.lift.text import lifted_text
from kernelwright.analysis.lift.ttir import lift_ttir

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="needs Triton, no GPU"
)
SOURCES = Path(__file__).parent / "sources" / "triton_kernels.py"
ROWS, COLS, INNER = 5, 19, 21
TEXTS = {
    "add": "for all i < n:\n  o[i] = x[i] + y[i]\n",
    "product": "for all j < M, i < N:\n"
    "  o[N*j + i] = sum(k1 < K: a[K*j + k1] * b[N*k1 + i]; from 0)\n",
    "turned": "for all j < cols, i < rows:\n  o[j*rows + i] = x[cols*i + j]\n",
    "described": "for all j < rows, i < cols:\n  o[cols*j + i] = x[cols*j + i] + 1\n",
    "returning": "for all i < n:\n  o[i] = x[i]\n",
}


@pytest.fixture(scope="module")
def kernels() -> dict[str, tuple[str, dict[str, str]]]:
    made = subprocess.run(
        [sys.executable, str(SOURCES)], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(made.stdout)


def lifted(kernels: Mapping[str, tuple[str, dict[str, str]]], name: str, **most: int) -> Lifted:
    text, signature = kernels[name]
    types = {"*fp32": "float32", "i32": "int32", "fp32": "float32"}
    arguments = [Argument(n, types[kind], kind[0] == "*") for n, kind in signature.items()]
    return lift_ttir(text, name, arguments, most)


@pytest.mark.parametrize("name", TEXTS)
def test_a_block_is_read_as_its_elements(
    name: str, kernels: dict[str, tuple[str, dict[str, str]]]
) -> None:
    assert lifted_text(lifted(kernels, name)) == TEXTS[name]


def test_blocks_that_are_split_and_joined_are_their_elements(
    kernels: dict[str, tuple[str, dict[str, str]]],
) -> None:
    x = np.arange(14, dtype=np.float32)
    o = np.zeros(14, dtype=np.float32)
    run(lifted(kernels, "exchanged"), {"n": 7, "nctaid.x": 1}, {"x": x, "o": o})
    assert [*o] == [*x.reshape(7, 2)[:, ::-1].ravel()]


def test_a_row_that_fits_in_a_block_is_a_whole_row(
    kernels: dict[str, tuple[str, dict[str, str]]],
) -> None:
    text = lifted_text(lifted(kernels, "softmax", n=32))
    assert text.startswith("for all ctaid.x < nctaid.x, tid.x < n:\n")
    assert "max(k1 < n: x[" in text
    assert "32" not in text


def test_loops_over_blocks_of_a_row_are_loops_over_the_row(
    kernels: dict[str, tuple[str, dict[str, str]]],
) -> None:
    text = lifted_text(lifted(kernels, "normalised"))
    assert "mean[i] = sum(k1 < n: x[i*n + k1]; from 0) / f32(n)\n" in text
    assert "each k2 < n:\n" in text


X = np.random.default_rng(11).normal(size=(ROWS, COLS)).astype(np.float32)
A = np.random.default_rng(12).normal(size=(ROWS, INNER)).astype(np.float32)
B = np.random.default_rng(13).normal(size=(INNER, COLS)).astype(np.float32)
E = np.exp(X - X.max(1, keepdims=True))
GIVEN: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "add": ({"n": X.size, "nctaid.x": 2}, {"x": X, "y": X}, X + X),
    "softmax": ({"n": COLS, "nctaid.x": ROWS}, {"x": X}, E / E.sum(1, keepdims=True)),
    "normalised": (
        {"n": COLS, "nctaid.x": ROWS, "eps": np.float32(1e-3)},
        {"x": X, "mean": np.zeros(ROWS, np.float32)},
        (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-3),
    ),
    "product": ({"M": ROWS, "N": COLS, "K": INNER}, {"a": A, "b": B}, A @ B),
    "prefixes": ({"n": COLS, "nctaid.x": ROWS}, {"x": X}, X.cumsum(1)),
    "added_up": ({"n": X.size, "nctaid.x": 2}, {"x": X}, X.sum()),
    "turned": ({"rows": ROWS, "cols": COLS}, {"x": X}, X.T),
    "place_of_most": ({"n": COLS, "nctaid.x": ROWS}, {"x": X}, X.argmax(1)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_the_interpreter_gives_what_the_kernel_means(
    name: str, kernels: dict[str, tuple[str, dict[str, str]]]
) -> None:
    sizes, arrays, wanted = GIVEN[name]
    found = lifted(kernels, name)
    assert found.opaque == ()
    o = np.zeros(np.size(wanted), dtype=np.float32)
    given = {key: np.ascontiguousarray(each).ravel().copy() for key, each in arrays.items()}
    run(found, sizes, {**given, "o": o})
    right = np.asarray(wanted, dtype=np.float32).ravel()
    np.testing.assert_allclose(o, right, rtol=1e-4, atol=1e-5)


def test_what_is_no_form_of_triton_is_opaque() -> None:
    found = lift_ttir("module {\n}\n", "f", ())
    assert found.opaque == ("no such kernel, or one with other parameters",)
