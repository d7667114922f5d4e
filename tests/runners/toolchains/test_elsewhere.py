"""Equal machine code is one variant's and another's only where both launch alike at every shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from triton_adds import ADD, WRAPPER, request_of, spec

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains.base import BuildRequest, Shape
from kernelwright.runners.toolchains.elsewhere import launches

CUDA = 'extern "C" __global__ void f(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }'


def wrapped(source: str) -> Any:
    return launches(request_of(spec(source, "run")))


def test_a_grid_that_fits_the_known_sizes_alone_is_no_grid_for_all() -> None:
    fitting = WRAPPER.replace("triton.cdiv(x.numel(), 512)", "min(triton.cdiv(x.numel(), 512), 8)")
    assert fitting != WRAPPER and wrapped(fitting) != wrapped(WRAPPER)


def test_what_device_code_and_comments_say_is_for_the_machine_code_to_tell_apart() -> None:
    other = WRAPPER.replace("tl.store", "# in order\n    tl.store", 1)
    assert wrapped(other + "\n# the end\n") == wrapped(WRAPPER)


def launched(plan: dict[str, Any] | None, **parameters: int) -> Any:
    return launches(request_of(spec(ADD, "add"), plan=plan, parameters=parameters))


def test_a_launch_of_a_variants_own_counts_unless_it_is_the_specs() -> None:
    own = {"grid": ["cdiv(n, BLOCK)"], "constexprs": {"BLOCK": 512}}
    assert launched(own) == launched(None)
    assert launched(own | {"grid": ["min(cdiv(n, BLOCK), 8)"]}) != launched(None)


def test_a_parameter_counts_where_the_launch_names_it_alone() -> None:
    plan = {"grid": ["cdiv(n, BLOCK) * PARTS"], "constexprs": {"BLOCK": 512}}
    assert launched(plan, PARTS=1) != launched(plan, PARTS=2)
    assert launched(None, PARTS=1) == launched(None, PARTS=2)


def planned(**changes: Any) -> Any:
    data = {
        "name": "ones",
        "kernel": {
            "kernel_type": "cuda",
            "source_code": CUDA,
            "metadata": {"kernel_name": "f"},
            "launch": {"grid": ["cdiv(n, 64)"], "block": [64]},
        },
        "io": {
            "arguments": [
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 64}},
        "workloads": [{"name": "w", "symbols": {"n": 64}}],
        "reference": "baseline",
    }
    loaded = load_data(data, Path("."), Roots([Path(".")]))
    return launches(
        BuildRequest(
            kernel=loaded,
            variant=loaded.baseline().model_copy(update=changes),
            shapes=(Shape(label="w", symbols={"n": 64}),),
            device=PROFILES[0][0],
        )
    )


def plan(grid: str, **defines: int) -> dict[str, Any]:
    return {"steps": [{"launch": "f", "grid": [grid], "block": [64]}], "defines": defines}


def test_plans_whose_grids_agree_by_chance_differ() -> None:
    assert planned(plan=plan("1")) != planned(plan=plan("cdiv(n, 64)"))


def test_a_define_counts_where_the_launch_hangs_on_it() -> None:
    assert planned(plan=plan("1", UNUSED=1)) == planned(plan=plan("1", UNUSED=2))
    tiled = [planned(plan=plan("cdiv(n, TILE)", TILE=t)) for t in (64, 128)]
    assert tiled[0] != tiled[1]


def test_a_source_that_does_not_parse_counts_as_it_is() -> None:
    assert wrapped(WRAPPER + "\ndef (:\n") != wrapped(WRAPPER)
