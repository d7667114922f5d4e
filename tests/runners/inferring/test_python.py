"""Specs of Python files without `io`: Triton kernels and their wrappers."""

from __future__ import annotations

from pathlib import Path

import pytest
from python_sources import INNER, JIT, WRAPPER

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.completing import OPEN, draft_of_source, entries


def test_triton_kernels_are_read_by_their_loads_and_stores() -> None:
    found = draft_of_source("add.py", JIT).data
    given = {a["name"]: (a["role"], a["dtype"]) for a in found["io"]["arguments"]}
    assert given == {
        "x_ptr": ("input", OPEN),
        "y_ptr": ("input", OPEN),
        "out_ptr": ("output", OPEN),
        "seen_ptr": ("inout", OPEN),
        "n": ("scalar", "int32"),
        "scale": ("scalar", "float32"),
        "stride_x": ("scalar", "int32"),
        "wide": ("scalar", "int64"),
    }
    assert set(found["parameters"]) == {"BLOCK"}
    assert found["kernel"]["launch"] == {"grid": [OPEN], "constexprs": {"FLAG": OPEN}}


def test_a_wrapper_is_the_entry_with_the_tensors_it_makes_as_outputs() -> None:
    assert entries(INNER + WRAPPER, "triton") == ("add",)
    found = draft_of_source("add.py", INNER + WRAPPER).data
    arguments = {a["name"]: a for a in found["io"]["arguments"]}
    assert list(arguments) == ["x", "y", "alpha", "out", "sums"]
    assert [a["role"] for a in arguments.values()] == [
        *("input", "inout", "scalar", "output", "output")
    ]
    assert arguments["x"]["shape"] == arguments["out"]["shape"] == ["rows", "cols"]
    assert arguments["sums"] == {
        **{"name": "sums", "role": "output", "dtype": "float32", "shape": ["rows"]}
    }
    assert arguments["alpha"]["value"] == 2.0
    assert found["parameters"]["BLOCK_SIZE"]["default"] == 512
    assert "launch" not in found["kernel"]
    assert draft_of_source("add.py", INNER + WRAPPER, "kernel").data["kernel"]["launch"]


def test_what_autotune_and_heuristics_give_is_not_asked_for() -> None:
    tuned = JIT.replace(
        "@triton.jit\ndef add",
        '@triton.autotune(configs=[triton.Config({"BLOCK": 128})], key=["n"])\n'
        '@triton.heuristics({"FLAG": lambda a: 1})\n@triton.jit\ndef add',
    )
    found = draft_of_source("add.py", tuned).data
    assert "parameters" not in found
    assert found["kernel"]["launch"] == {"grid": [OPEN]}


def test_a_python_file_is_never_executed(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    draft_of_source("add.py", f"open({str(marker)!r}, 'w')\n" + JIT)
    assert not marker.exists()


def test_a_python_file_that_does_not_parse_is_refused_with_the_line() -> None:
    with pytest.raises(SpecError, match=r"not Python: .* in line 2"):
        draft_of_source("add.py", "import triton\ndef (:\n")
