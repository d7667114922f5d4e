"""Several kernels in one run: which is searched first, and who says so."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import SPEC, tiny_kernel, with_known_peaks

from kernelwright.analysis.roofline import WorkloadRoofline, roofline
from kernelwright.analysis.worth import Worth, above_floor
from kernelwright.runners.errors import KernelwrightError, SpecError
from kernelwright.runners.limits.limits import Peaks, Work
from kernelwright.runners.loading.files import Roots, load_path
from kernelwright.search.session.inputs.ordering import check_weights, read_weights
from kernelwright.search.session.optimize import optimize
from kernelwright.search.session.run_events import Opened, Turn
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings

PEAKS = Peaks(copy_bytes_per_s=1e9, flops_per_s=1e9, source="measured", device="d", method="given")


def at(workload: str, flops: float | None, time_s: float) -> WorkloadRoofline:
    return WorkloadRoofline(
        workload=workload, roofline=roofline(Work(bytes=None, flops=flops), PEAKS, time_s)
    )


def test_what_lies_above_the_floor_is_weighed_by_workloads_and_unknown_floors_are_left_out() -> (
    None
):
    lines = [at("slow", 1e9, 4.0), at("near", 1e9, 1.0), at("dark", None, 1.0)]
    weights = {"slow": 3.0, "near": 1.0, "dark": 9.0}
    assert above_floor(lines, weights) == pytest.approx(3 / 4 * 0.75)
    assert above_floor([at("dark", None, 1.0)], weights) is None
    assert above_floor([at("near", 1e9, 0.5)], weights) == 0, "below the floor nothing is left"


@given(st.floats(0.01, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_more_weight_or_more_to_gain_is_worth_more(weight: float, one: float, more: float) -> None:
    low, high = sorted((one, more))
    assert Worth(weight=weight, above=low).score <= Worth(weight=weight, above=high).score
    assert Worth(weight=weight, above=high).score <= Worth(weight=2 * weight, above=high).score
    assert Worth(weight=weight, above=high).score <= Worth(weight=weight, above=None).score


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[1]", "holds no weights"),
        ("{", "is no JSON"),
        ('{"a": 0}', "the weight of `a` is 0"),
        ('{"a": "3"}', "the weight of `a` is '3'"),
        ('{"a": true}', "the weight of `a` is True"),
        ('{"a": NaN}', "the weight of `a` is nan"),
    ],
)
def test_weights_that_are_none_are_refused(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(SpecError, match=wrong):
        read_weights(tmp_path / "w.json")


def two(folder: Path, weight: float) -> list[Path]:
    """The tiny kernel under two names, of which the second has a weight."""
    tiny_kernel(folder)
    second = {**SPEC, "name": "other", "weight": weight}
    (folder / "z.json").write_text(json.dumps(second), encoding="utf-8")
    return [folder / "spec.json", folder / "z.json"]


def test_a_weight_of_no_kernel_is_told_before_anything_is_built(tmp_path: Path) -> None:
    specs = two(tmp_path, 1)
    check_weights({"bump": 2, "other": 1}, specs)
    with pytest.raises(SpecError, match="`bumb`, which is no kernel") as caught:
        check_weights({"bumb": 2}, specs)
    assert caught.value.valid == "bump"
    with pytest.raises(KernelwrightError):
        check_weights({"bump": 1}, [tmp_path / "nothing.json"])


def test_a_weight_changes_no_kernels_identity(tmp_path: Path) -> None:
    specs, roots = two(tmp_path, 1), Roots([tmp_path])
    before = load_path(specs[1], roots).kernel_id
    two(tmp_path, 7)
    assert load_path(specs[1], roots).kernel_id == before


def test_several_are_opened_first_and_then_searched_by_worth(
    tmp_path: Path, shared_builds: None, brief_timing: None
) -> None:
    specs, roots = two(tmp_path, 5), [tmp_path]
    outdir = with_known_peaks(tmp_path / "out")
    told = list[str]()
    for weights in ({}, {"bump": 9.0}):
        with Workbench(outdir, roots) as bench:
            run = optimize(bench, specs, Settings(budget_builds=1), weights=weights)
            with closing(run) as events:
                for event in events:
                    if isinstance(event, Opened):
                        told.append(f"opened {event.kernel.loaded.spec.name}")
                    if isinstance(event, Turn):
                        told.append(f"{event.kernel.loaded.spec.name} {event.worth.weight:g}")
                        break
    assert told == [
        "opened bump",
        "opened other",
        "other 5",
        "opened bump",
        "opened other",
        "bump 9",
    ]
