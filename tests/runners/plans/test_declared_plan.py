"""What a spec declares of launches becomes plans with numbers, or a sentence about the mistake."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from declared_plans import ARGUMENTS, LAUNCH, contract, data, launch_of, spec, step, steps

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.files import Roots, load_data, parse_spec
from kernelwright.runners.plans.declared_plan import declared_plan, resolve, with_code
from kernelwright.runners.plans.plan import (
    Fill,
    LaunchPlan,
    PointerParam,
    ScalarParam,
    SetSymbol,
    TensorMapParam,
)
from kernelwright.runners.specs.declared_plan_model import TritonLaunch
from kernelwright.runners.specs.spec import KernelSpec

DOCUMENT = Path(__file__).parents[3] / "docs" / "launch-plan.md"


def plan_of(n: int = 1000, values: dict[str, int] | None = None, **kernel: Any) -> LaunchPlan:
    made = spec(**kernel)
    return resolve(declared_plan(made.kernel), contract(made, n), {"TILE": 4} | (values or {}))


def refused(**kernel: Any) -> str:
    with pytest.raises(SpecError) as caught:
        spec(**kernel)
    return str(caught.value)


def test_one_launch_takes_the_arguments_of_the_contract_in_order() -> None:
    plan = plan_of(launch=LAUNCH)
    assert (plan.kernels[0].entry, plan.kernels[0].block) == ("scale", (128, 1, 1))
    launch = launch_of(plan)
    assert launch.grid == (8, 1, 1)
    assert launch.params == (
        PointerParam(arg="x", buffer="x"),
        PointerParam(arg="y", buffer="y"),
        ScalarParam(arg="a", type="float32", value=2.5, raw=struct.pack("<f", 2.5).hex()),
    )


@pytest.mark.parametrize(
    "grid", [[3, "TILE"], {"x": 3, "y": "TILE"}, {"y": "TILE", "x": "n // 333", "z": 1}]
)
def test_sizes_are_a_list_or_an_object_of_axes(grid: object) -> None:
    assert launch_of(plan_of(launch={**LAUNCH, "grid": grid})).grid == (3, 4, 1)


def test_what_a_plan_defines_counts_in_its_expressions() -> None:
    plan = steps(step(grid="cdiv(n, ROWS)", block="2 * WIDTH"), defines={"ROWS": 8, "WIDTH": 64})
    made = plan_of(plan=plan)
    assert launch_of(made).grid == (125, 1, 1) and made.kernels[0].block == (128, 1, 1)


@pytest.mark.parametrize("name", ["n", "TILE", "x", "block_x"])
def test_what_a_plan_defines_has_a_name_of_its_own(name: str) -> None:
    assert f"`{name}` has a meaning already" in refused(plan=steps(step(), defines={name: 1}))


def test_launch_attributes_are_taken_over() -> None:
    given = {"grid": 8, "block": 32, "shared": "4 * block_x", "cluster": [2]}
    kernel = plan_of(launch={**given, "cooperative": True, "pdl": True}).kernels[0]
    assert (kernel.shared, kernel.cluster, kernel.cooperative, kernel.pdl) == (
        128,
        (2, 1, 1),
        True,
        True,
    )


def test_every_form_of_argument_becomes_its_parameter() -> None:
    tensormap = {"buffer": "x", "dtype": "float32", "dims": ["n"], "box": [64], "swizzle": 1}
    args = [
        "y",
        "a",
        "n",
        "TILE",
        {"buffer": "tmp", "offset": "4 * TILE"},
        {"value": "n / 3", "dtype": "float64"},
        {"value": "n", "dtype": "int64"},
        {"raw": "00ff"},
        None,
        {"tensormap": tensormap},
    ]
    plan = plan_of(plan=steps(step(args=args), buffers={"tmp": {"nbytes": 64}}))
    assert launch_of(plan).params == (
        PointerParam(arg="y", buffer="y"),
        ScalarParam(arg="a", type="float32", value=2.5, raw=struct.pack("<f", 2.5).hex()),
        ScalarParam(arg="n", type="int32", value=1000, raw="e8030000"),
        ScalarParam(arg="TILE", type="int32", value=4, raw="04000000"),
        PointerParam(arg="args[4]", buffer="tmp", offset=16),
        ScalarParam(
            arg="args[5]", type="float64", value=1000 / 3, raw=struct.pack("<d", 1000 / 3).hex()
        ),
        ScalarParam(arg="args[6]", type="int64", value=1000, raw="e803000000000000"),
        ScalarParam(arg="args[7]", type="bytes", value=None, raw="00ff"),
        PointerParam(arg="args[8]", buffer=None),
        TensorMapParam(
            arg="args[9]", buffer="x", dtype=7, dims=(1000,), strides=(), box=(64,), swizzle=1
        ),
    )


def test_fills_and_sets_reach_to_the_end_of_a_buffer() -> None:
    plan = plan_of(
        plan=steps(
            {"fill": "tmp", "offset": 8, "pattern": "0000c07f"},
            {"set": "lut", "buffer": "x", "offset": "4 * TILE"},
            step(),
            buffers={"tmp": {"dtype": "float64", "shape": ["TILE", 2]}},
            setup=[{"set": "lut", "value": [1, "n / 2"], "dtype": "float32", "in": "scale"}],
        )
    )
    raw = struct.pack("<ff", 1, 500).hex()
    assert plan.setup == (SetSymbol(symbol="lut", kernel="k0", raw=raw, nbytes=8),)
    assert plan.steps[0] == Fill(fill="tmp", offset=8, nbytes=56, pattern="0000c07f")
    assert plan.steps[1] == SetSymbol(
        symbol="lut", kernel="k0", buffer="x", buffer_offset=16, nbytes=3984
    )


def test_launches_that_differ_in_nothing_but_grid_share_a_kernel() -> None:
    plan = plan_of(plan=steps(step(), step(grid=3), step(shared=64), step(block=64)))
    assert [k.id for k in plan.kernels] == ["k0", "k1", "k2"]
    assert [launch.launch for launch in plan.launches] == ["k0", "k0", "k1", "k2"]


def test_parameters_among_template_arguments_become_numbers() -> None:
    entry = "ns::scale<float, TILE, block_x>"
    plan = plan_of(plan=steps(step(launch=entry)), values={"TILE": 8})
    assert plan.kernels[0].entry == "ns::scale<float, 8, 128>"


def test_the_machine_codes_names_replace_those_of_the_declaration() -> None:
    declared = plan_of(plan=steps({"set": "lut", "raw": "00"}, step()))
    plan = with_code(declared, "ab" * 32, {"scale": "_Z5scale"}, {"lut": "_ZL3lut"})
    assert (plan.kernels[0].entry, plan.kernels[0].sha256) == ("_Z5scale", "ab" * 32)
    first = plan.steps[0]
    assert isinstance(first, SetSymbol) and first.symbol == "_ZL3lut"


def test_a_declared_plan_survives_json() -> None:
    args = ["x", {"value": 1.5, "dtype": "float32"}, None, {"buffer": "y"}]
    plan = steps({"fill": "y"}, step(args=args), setup=[{"set": "l", "raw": "00", "in": "scale"}])
    made = spec(plan=plan)
    assert KernelSpec.model_validate(made.model_dump(mode="json")) == made
    assert KernelSpec.model_validate_json(made.model_dump_json()) == made


def test_the_baseline_carries_what_the_spec_declares(tmp_path: Path) -> None:
    roots = Roots([tmp_path])
    kernels: list[dict[str, Any]] = [{"launch": LAUNCH}, {"plan": steps({"fill": "y"}, step())}]
    for kernel in kernels:
        loaded = load_data(data(**kernel), tmp_path, roots)
        own = declared_plan(loaded.spec.kernel)
        assert declared_plan(loaded.spec.kernel, loaded.baseline().plan) == own


def test_a_variants_own_plan_comes_before_the_specs() -> None:
    kernel = spec(launch=LAUNCH).kernel
    assert declared_plan(kernel, {"grid": 7, "block": 32}).launches[0].grid == (7, 1, 1)
    assert declared_plan(kernel, steps(step(), step())).launches[1].launch == "scale"


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing says how this CUDA kernel is launched"),
    ({"launch": {"grid": 1}}, "kernel.launch.block: required, and missing"),
    (
        {"launch": {**LAUNCH, "blok": 1}},
        "kernel.launch: unknown field `blok`; did you mean `block`",
    ),
    ({"launch": {**LAUNCH, "num_warps": 4}}, "`num_warps` belongs to a launch of a triton kernel"),
    ({"kind": "cpp", "launch": LAUNCH}, "a cpp kernel is called, not launched"),
    ({"kind": "cpp", "plan": steps(step())}, "a plan is for CUDA kernels, this one is cpp"),
    ({"launch": LAUNCH, "plan": steps(step())}, "give launch or plan, not both"),
    ({"launch": {**LAUNCH, "grid": [1, 2, 3, 4]}}, "kernel.launch.grid: 4 axes"),
    ({"launch": {**LAUNCH, "grid": {"w": 1}}}, "kernel.launch.grid: no axis `w`"),
    ({"plan": steps({"fill": "y"})}, "kernel.plan: no step launches a kernel"),
    ({"plan": steps(step(launch="a;b"))}, "kernel.plan.steps.0.launch: `a;b` is no C++ name"),
    (
        {"plan": steps({"copy": "y"}, step())},
        "kernel.plan.steps.0: a step is an object with one of",
    ),
    (
        {"plan": steps(step(), setup=[step()])},
        "kernel.plan.setup.0: a step of setup is an object with one of `fill`, `set`",
    ),
    (
        {"plan": steps(step(args=[{"value": "n", "type": "int32"}]))},
        "kernel.plan.steps.0.args.0: unknown field `type`; did you mean `dtype`?",
    ),
    (
        {"plan": steps(step(), buffers={"t": {"dtype": "int8"}})},
        "kernel.plan.buffers.t: give dtype and shape, or nbytes",
    ),
    (
        {"plan": steps({"set": "l", "raw": "00", "value": 1}, step())},
        "kernel.plan.steps.0: give exactly one of raw, value and buffer",
    ),
    (
        {"launch": {**LAUNCH, "grid": "cdiv(N, 2)"}},
        "plan w, step 0, `scale`, grid.x: `N` is not a known name\nValid: ",
    ),
    (
        {"launch": {**LAUNCH, "grid": "cdiv(n, TILES)"}},
        "grid.x: `TILES` is not a known name\nValid: did you mean `TILE`?",
    ),
    ({"launch": {**LAUNCH, "grid": "n / 3"}}, "`n / 3` is 333.3333333333333, which is not a whole"),
    ({"launch": {**LAUNCH, "grid": "n // 2000"}}, "grid: (`n // 2000`, `1`, `1`) is (0, 1, 1)"),
    ({"launch": {**LAUNCH, "grid": [1, 70000]}}, "step 0: grid (1, 70000, 1)"),
    ({"launch": {**LAUNCH, "block": [64, 32]}}, "block (64, 32, 1)"),
    ({"launch": {**LAUNCH, "shared": -4}}, "step 0, `scale`, shared: -4"),
    ({"launch": {"grid": 3, "block": 32, "cluster": 2}}, "grid (3, 1, 1)\nValid: multiples of"),
    (
        {"launch": {**LAUNCH, "args": ["x", "z"]}},
        "step 0, `scale`, args[1], name: `z` is not a known name",
    ),
    (
        {"launch": {**LAUNCH, "args": [{"buffer": "xx"}]}},
        "args[0], buffer: `xx` is not a known name\nValid: did you mean `x`?",
    ),
    (
        {"launch": {**LAUNCH, "args": [{"buffer": "x", "offset": "8 * n"}]}},
        "args[0]: bytes 8000..8000 of `x`\nValid: it holds 4000 bytes",
    ),
    (
        {"launch": {**LAUNCH, "args": [{"value": "n * n * n * n"}]}},
        "scalar `args[0]` = 1000000000000 does not fit int32",
    ),
    ({"plan": steps({"fill": "z"}, step())}, "step 0, buffer: `z` is not a known name"),
    (
        {"launch": {**LAUNCH, "args": ["x", "z"]}},
        "memory beside the arguments is declared in kernel.plan.buffers",
    ),
    (
        {"plan": steps({"fill": "y", "pattern": "0g"}, step())},
        "kernel.plan.steps.0.pattern: must be 1 to 8 bytes in hexadecimal, such as 00 or",
    ),
    (
        {"plan": steps({"set": "l", "raw": "xyz"}, step())},
        "kernel.plan.steps.0.raw: must be bytes in hexadecimal",
    ),
    (
        {"plan": steps({"fill": "y", "offset": 4000}, step())},
        "step 0: 0 bytes from byte 4000 of `y`",
    ),
    (
        {"plan": steps({"fill": "y", "nbytes": 4001}, step())},
        "step 0: bytes 0..4001 of `y`\nValid: it holds 4000 bytes",
    ),
    (
        {"plan": steps(step(), setup=[{"set": "l", "buffer": "x"}])},
        "setup 0: symbol `l` is set from `x` in setup",
    ),
    (
        {"plan": steps({"set": "l", "raw": "00", "in": "other"}, step())},
        "step 0, set l: no step launches `other`\nValid: scale",
    ),
    (
        {"plan": steps(step(), buffers={"x": {"nbytes": 4}})},
        "plan w, buffers.x: an argument has this name",
    ),
    (
        {"plan": steps(step(args=[{"tensormap": {"buffer": "x", "dtype": "float32"}}]))},
        "kernel.plan.steps.0.args.0.tensormap.dims: required, and missing",
    ),
]


@pytest.mark.parametrize(("kernel", "words"), MISTAKES)
def test_a_mistake_is_told_with_its_place_when_the_spec_is_parsed(
    kernel: dict[str, Any], words: str
) -> None:
    assert words in refused(**kernel)


def test_a_mistake_in_a_variants_plan_is_told_by_field() -> None:
    with pytest.raises(SpecError, match=r"steps\.0\.block: required, and missing"):
        declared_plan(spec(launch=LAUNCH).kernel, steps({"launch": "scale", "grid": 1}))


def test_a_triton_launch_has_a_grid_and_constexprs() -> None:
    given = {"grid": ["cdiv(n, B)"], "constexprs": {"B": "TILE * 2", "FAST": True}, "num_warps": 4}
    launch = spec(kind="triton", launch=given).kernel.launch
    assert isinstance(launch, TritonLaunch)
    assert launch.constexprs == {"B": "TILE * 2", "FAST": True}


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        ({"grid": 1, "block": 32}, "`block` belongs to a launch of a cuda kernel"),
        ({"grid": "cdiv(n, C)", "constexprs": {"B": 1}}, "grid.x: `C` is not a known name"),
        ({"grid": 1, "constexprs": {"B": "TILES"}}, "constexprs.B: `TILES` is not a known name"),
        ({"grid": 1, "num_warps": 0}, "num_warps: `0`\nValid: 1 or more"),
    ],
)
def test_a_mistake_in_a_triton_launch_is_told_too(launch: dict[str, Any], words: str) -> None:
    assert words in refused(kind="triton", launch=launch)


def test_the_example_of_the_document_resolves() -> None:
    block = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    written = data(plan=json.loads(block[1]))
    written["io"]["arguments"][1] = ARGUMENTS[1] | {"name": "total", "shape": [1]}
    made = parse_spec(written)
    plan = resolve(declared_plan(made.kernel), contract(made, 10_000), {})
    assert [k.entry for k in plan.kernels] == ["sum_blocks<float, 256>", "sum_all"]
    assert [launch.grid[0] for launch in plan.launches] == [3, 1]
