"""The scripts under benchmarks: what they choose, and what they say of a result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from measured_yardsticks import YARDSTICK

ROOT = Path(__file__).parents[2]
ROW: dict[str, Any] = {
    "kernel": "cuda_sum",
    "folder": "cuda_sum",
    "baseline_ms": {"large": 0.1, "small": 0.02},
    "best_ms": {"large": 0.05, "small": 0.01},
    "library_ms": {"large": 0.045, "small": 0.012},
    "speedup": 2.0,
    "low": 1.9,
    "high": 2.1,
    "of_copy_bandwidth": {"large": 0.9, "small": None},
    "of_datasheet": {"large": 0.8, "small": 0.4},
    "changed": "BLOCK=512",
    "builds": 12,
    "seconds": 30.4,
}
FAILED = {"kernel": "cuda_scale", "folder": "cuda_scale", "error": "no GPU"}


def test_all_gpu_specs_are_searched_unless_some_are_named(script: Callable[[str], Any]) -> None:
    chosen = script("gpu_examples").gpu_examples
    every = {e.name for e in chosen()}
    assert {"triton_softmax", "triton_softmax_wrapper", "cuda_sum"} <= every
    assert "matmul" not in every
    assert {e.name for e in chosen(["triton_matmul"])} == {
        "triton_matmul",
        "triton_matmul_autotuned",
    }
    assert {e.name for e in chosen(["triton_matmul_autotuned"])} == {"triton_matmul_autotuned"}


def test_a_name_that_no_gpu_example_has_ends_the_script(script: Callable[[str], Any]) -> None:
    with pytest.raises(SystemExit, match=r"no GPU example `matmul`; valid: .*cuda_scale"):
        script("gpu_examples").gpu_examples(["matmul"])


def test_the_text_table_has_a_line_for_each_example_and_the_failures_below(
    script: Callable[[str], Any],
) -> None:
    lines = script("gpu_examples").table([ROW, FAILED]).splitlines()
    assert len(lines) == 3
    assert "2x (1.9 to 2.1)" in lines[1]
    assert "90 %, -" in lines[1]
    assert "0.90, 1.20" in lines[1]
    assert lines[2] == "cuda_scale failed: no GPU"


def test_nothing_confirmed_is_told_as_no_speedup(script: Callable[[str], Any]) -> None:
    assert script("cells").speedup({}, "held_out_") == "none"


def test_the_gpu_table_of_readme_shows_place_and_results(script: Callable[[str], Any]) -> None:
    place = {"gpu": "G", "driver": "1", "cuda": "13.0", "packages": {"torch": "2"}, "date": "d"}
    result = {
        "environment": place,
        "yardsticks": {"missing": "no torch"},
        "budget_builds": 24,
        "budget_seconds": 25.0,
        "examples": [ROW, FAILED],
    }
    text = script("readme_table").gpu_table(result)
    assert "on an G (driver 1, CUDA 13.0, torch 2, d)" in text
    assert "| cuda_sum | 0.1, 0.02 | 0.05, 0.01 | 2x (1.9 to 2.1) | none | 90 %, - |" in text
    assert "cuda_scale" not in text


@pytest.mark.parametrize("name", ["docs/results.md", "docs/how-we-measure.md"])
def test_documents_say_what_the_results_say(script: Callable[[str], Any], name: str) -> None:
    """Where this fails: python benchmarks/readme_table.py."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert script("readme_table").filled(name, text) == text


def test_what_is_not_equal_to_triton_or_slower_is_told(script: Callable[[str], Any]) -> None:
    place = {"gpu": "G", "driver": "1", "cuda": "13.0, V13.0.88", "date": "d"}
    row = {"kernel": "a", "workload": "w", "equal": True, "ratio": 1.001, "within_1_percent": True}
    off = {**row, "kernel": "b", "equal": False, "ratio": 1.05, "within_1_percent": False}
    told = script("gpu_tables").bit_equality(
        {"environment": place, "within": 0.01, "rows": [row, off]}
    )
    assert "G, driver 1, CUDA 13.0, d" in told
    assert "bit for bit in 1 of 2 workloads of 2 specs (not b on w)" in told
    assert "Beyond it: b on w by 5 %." in told


@pytest.mark.skipif(find_spec("torch") is None, reason="yardsticks need torch")
def test_every_yardstick_does_the_work_of_its_reference() -> None:
    folders = sorted(p.parent for p in ROOT.glob("examples/*/yardstick.py"))
    command = [sys.executable, "-c", YARDSTICK, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_yardsticks_without_a_gpu_say_what_is_missing(script: Callable[[str], Any]) -> None:
    if find_spec("torch") is not None and _has_gpu():
        pytest.skip("there is a GPU")
    found = script("gpu_examples").yardsticks([ROOT / "examples/cuda_sum"])
    assert found["missing"].startswith("yardsticks need")


def _has_gpu() -> bool:
    code = "import torch; raise SystemExit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
