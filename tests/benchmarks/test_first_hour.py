"""The stopwatch of a newcomer: specs are filled in, and its program calls what it is linked to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.loading.domains import with_domains
from kernelwright.runners.loading.files import Roots, draft_of_file
from kernelwright.runners.specs.contract import check_workloads
from kernelwright.runners.specs.spec import KernelSpec

KERNELS = "atax bicg gesummv doitgen hydro tridiag nbody blur dot rmsnorm histogram prefix_sum"


def spec_of(first_hour: Any, name: str) -> dict[str, Any]:
    source = first_hour.SOURCES / f"{name}.cpp"
    inferred = with_domains(draft_of_file(source, Roots([first_hour.SOURCES]), None)).data
    made: dict[str, Any] = first_hour.spec_of(inferred, first_hour.KERNELS[name])
    return made


@pytest.mark.parametrize("name", KERNELS.split())
def test_answers_fill_in_what_was_inferred(script: Callable[[str], Any], name: str) -> None:
    first_hour = script("first_hour")
    assert first_hour.KERNELS.keys() == set(KERNELS.split())
    made = KernelSpec.model_validate(spec_of(first_hour, name))
    check_workloads(made)
    assert made.kernel.metadata.kernel_name == name


def test_an_answer_that_is_missing_is_told(script: Callable[[str], Any]) -> None:
    first_hour = script("first_hour")
    left = first_hour.Kernel({"n": 800})
    source = first_hour.SOURCES / "gesummv.cpp"
    inferred = with_domains(draft_of_file(source, Roots([first_hour.SOURCES]), None)).data
    with pytest.raises(ValueError, match="`gesummv`: a `\\?` is left"):
        first_hour.spec_of(inferred, left)


@pytest.mark.parametrize("name", ["blur", "histogram"])
def test_the_stopwatch_times_calls_on_vectors_of_its_own(
    script: Callable[[str], Any], tmp_path: Path, name: str
) -> None:
    first_hour = script("first_hour")
    spec, main = spec_of(first_hour, name), tmp_path / "main.cpp"
    small = {"h": 8, "w": 12} if name == "blur" else {"n": 1000}
    spec["workloads"][0]["symbols"] = small
    text = first_hour.program(spec)
    main.write_text(text.replace(f"timed({first_hour.CALLS_S}", "timed(0.0"), encoding="utf-8")
    made, folder = tmp_path / "timed", first_hour.SOURCES
    command = ["g++", "-std=c++17", f"-I{folder}", str(main), str(folder / f"{name}.cpp")]
    subprocess.run([*command, "-o", str(made)], check=True, capture_output=True)
    said = json.loads(subprocess.run([made], check=True, capture_output=True, text=True).stdout)
    assert said["calls"] == 6
    assert said["ms"] > 0 and said["first_ms"] > 0
    if name == "histogram":
        assert said["sum"] == 1000, "every value was counted"


def test_the_ratio_is_of_medians_with_the_pairs_around_it(script: Callable[[str], Any]) -> None:
    runs = {
        "baseline": [{"ms": 4.0}, {"ms": 6.0}, {"ms": 5.0}],
        "winner": [{"ms": 2.0}, {"ms": 2.0}, {"ms": 2.0}],
    }
    assert script("first_hour").compare(runs, "ms") == {"ratio": 2.5, "least": 2.0, "most": 3.0}


def test_a_kernel_that_fails_ends_nothing_and_counts_as_not_covered(
    script: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_hour = script("first_hour")

    def row(name: str, folder: Path) -> dict[str, Any]:
        if name == "blur":
            raise RuntimeError("optimize ended with 1:\nand why")
        held = {"covered_told": True, "covered": name == "atax", "covered_cold": name == "dot"}
        ratio = {"ratio": 2.0}
        told = {"told": 2.0, "low": 1.9, "high": 2.1, "told_warm": [2.0, 1.9, 2.1]}
        return {"kernel": name, **told, **held, "warm": ratio, "cold": ratio, "seconds": 1.0}

    output = tmp_path / "out.json"
    monkeypatch.setattr(first_hour, "_row", row)
    for asked in (["dot", "blur"], ["atax"]):
        monkeypatch.setattr(sys, "argv", ["first_hour.py", *asked, "--output", str(output)])
        first_hour.main()
    found = json.loads(output.read_text(encoding="utf-8"))
    assert [each["kernel"] for each in found["kernels"]] == ["atax", "blur", "dot"]
    assert found["kernels"][1]["failed"] == "optimize ended with 1:\nand why"
    assert found["covered"] == {
        "plain calls, by the interval that is told": {"held": 2, "of": 3},
        "plain calls, by that of warm caches": {"held": 1, "of": 3},
        "cold caches, by the interval that is told": {"held": 1, "of": 3},
    }
