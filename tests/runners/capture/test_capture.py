"""Capture of Triton sources: what becomes a plan, what is refused, and what can be tuned."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from capture_forks import CASES, Forks, constant
from captures import HEADER, KERNEL, MISSING, TUNED, XY, XYN, params, plan_of

from kernelwright.runners.capture import CaptureResult
from kernelwright.runners.plans.plan import (
    Fill,
    Launch,
    LaunchPlan,
    PointerParam,
    ScalarParam,
    TensorMapParam,
)

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
OK = sorted((CASES / "ok").glob("*.py"))
BAD = sorted((CASES / "bad").glob("*.py"))


def case_plan(forks: Forks, name: str) -> LaunchPlan:
    return plan_of(forks.case(CASES / "ok" / f"{name}.py"))


def pointers(plan: LaunchPlan, index: int = 0) -> list[tuple[str | None, int]]:
    found = (p for p in plan.launches[index].params if isinstance(p, PointerParam))
    return [(p.buffer, p.offset) for p in found]


def specialised_for_16(forks: Forks, path: Path, index: int = 0) -> bool:
    """Whether the kernel of a case reads several floats at once."""
    ptx = [m for m in forks.case(path).modules if m.kind == "ptx"][index]
    return "ld.global.v" in (forks.folder(path) / f"{ptx.sha256}.ptx").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", OK, ids=lambda path: path.stem)
def test_an_honest_source_becomes_a_plan(forks: Forks, path: Path) -> None:
    result = forks.case(path)
    plan = plan_of(result)
    assert result.entries.keys() == {k.id for k in plan.kernels}
    assert all(e.registers > 0 for e in result.entries.values())
    cubins = {m.sha256 for m in result.modules if m.kind == "cubin"}
    assert {k.sha256 for k in plan.kernels} == cubins
    assert {m.of for m in result.modules if m.kind == "ptx"} == cubins


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_what_no_plan_can_say_is_refused_with_the_reason(forks: Forks, path: Path) -> None:
    result = forks.case(path)
    assert result.plan is None
    assert constant(path, "REASON") in result.refusal
    assert result.kind != ""


def test_a_refusal_names_the_line_of_the_source(forks: Forks) -> None:
    result = forks.case(CASES / "bad" / "operator_after.py")
    assert result.refusal.endswith("(line 10: `return doubled(x) + 1`)")


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("operator_after", "refused"),
        ("missing_module", "raised"),
        ("does_not_compile", "does_not_compile"),
        ("too_many_threads", "does_not_fit"),
    ],
)
def test_a_refusal_says_of_which_kind_it_is(forks: Forks, case: str, kind: str) -> None:
    assert forks.case(CASES / "bad" / f"{case}.py").kind == kind


def test_a_source_that_is_no_python_is_refused_with_its_line(forks: Forks) -> None:
    result = forks.capture("import torch\n\ndef run(x:\n    pass\n", XY)
    assert "SyntaxError" in result.refusal
    assert "line 3" in result.refusal


def test_the_grid_arguments_and_output_of_a_wrapper_are_those_of_its_launch(forks: Forks) -> None:
    plan = case_plan(forks, "allocated_output")
    (launch,) = plan.launches
    assert launch.grid == (5, 1, 1)
    assert pointers(plan) == [("a", 0), ("b", 0), ("c", 0), (None, 0), (None, 0)]
    n = params(plan)["n"]
    assert isinstance(n, ScalarParam)
    assert (n.type, n.value, n.raw) == ("int32", 5000, struct.pack("<i", 5000).hex())
    assert {b.name: b.role for b in plan.buffers} == dict.fromkeys("abc", "argument")
    assert plan.kernels[0].block == (128, 1, 1)


def test_an_allocated_output_becomes_the_output_itself(forks: Forks) -> None:
    plan = case_plan(forks, "allocated_output")
    assert [(o.name, o.buffer, o.offset) for o in plan.outputs] == [("c", "c", 0)]


def test_an_output_inside_a_larger_buffer_is_found_there(forks: Forks) -> None:
    plan = case_plan(forks, "output_in_a_part")
    (output,) = plan.outputs
    scratch = next(b for b in plan.buffers if b.role == "scratch")
    assert (output.buffer, output.offset, scratch.nbytes) == (scratch.name, 4000, 12000)
    assert any(b.name == "y" and b.role == "argument" for b in plan.buffers)


def test_the_new_value_of_an_inout_may_lie_in_a_tensor_of_its_own(forks: Forks) -> None:
    plan = case_plan(forks, "functional_inout")
    roles = {b.name: b.role for b in plan.buffers}
    assert roles[plan.outputs[0].buffer] == "scratch"
    assert roles["x"] == "argument"


def test_divisibility_by_16_is_assumed_only_where_it_is_promised(forks: Forks) -> None:
    """A view one element in, and a contract of 4 bytes, must not be read in vectors."""
    path = CASES / "ok" / "view_with_offset.py"
    view = plan_of(forks.case(path))
    assert [pointers(view, i)[0] for i in (0, 1)] == [("x", 16), ("x", 4)]
    assert [specialised_for_16(forks, path, i) for i in (0, 1)] == [True, False]
    path = CASES / "ok" / "barely_aligned.py"
    barely = plan_of(forks.case(path))
    assert not specialised_for_16(forks, path)
    assert {b.name: b.align for b in barely.buffers if b.role == "argument"} == {"x": 4, "y": 4}
    assert barely.outputs[0].buffer != "y"


def test_a_view_after_the_first_element_gets_another_kernel(forks: Forks) -> None:
    plan = case_plan(forks, "view_with_offset")
    assert [s.launch for s in plan.launches] == ["k0", "k1"]


def test_addresses_as_numbers_and_in_tables_stay_addresses(forks: Forks) -> None:
    number = case_plan(forks, "address_as_number")
    assert params(number)["address"] == PointerParam(arg="address", buffer="x", offset=32)
    table = case_plan(forks, "pointer_table")
    (const,) = (b for b in table.buffers if b.role == "const")
    assert [(p.at, p.buffer, p.offset) for p in const.pointers] == [(0, "x", 0), (8, "x", 16)]


def test_fills_are_steps_in_order_with_the_bytes_of_their_numbers(forks: Forks) -> None:
    plan = case_plan(forks, "fills")
    first = plan.steps[:3]
    patterns = [struct.pack("<f", v).hex() for v in (7, 0, float("-inf"))]
    assert [s.pattern for s in first if isinstance(s, Fill)] == patterns
    spans = [(s.offset, s.nbytes) for s in first if isinstance(s, Fill)]
    assert spans == [(4000, 4000), (0, 4000), (0, 8000)]
    assert [s.pattern for s in plan.steps if isinstance(s, Fill)][3] == "03" + 7 * "00"
    assert sum(isinstance(s, Fill) for s in plan.steps) == 5


def test_a_fill_at_import_is_repeated_as_setup(forks: Forks) -> None:
    plan = case_plan(forks, "filled_at_import")
    assert [(f.nbytes, f.pattern) for f in plan.setup if isinstance(f, Fill)] == [(64, 8 * "0")]
    assert all(isinstance(s, Launch) for s in plan.steps)


def test_a_uniform_constant_is_filled_in_every_run(forks: Forks) -> None:
    plan = case_plan(forks, "uniform_constant")
    fill = plan.steps[0]
    assert isinstance(fill, Fill)
    assert (fill.fill, fill.pattern) == ("y", struct.pack("<f", 0.5).hex())


def test_scalars_have_the_width_and_bytes_of_the_launcher(forks: Forks) -> None:
    """Values that are 1, None and constexprs take no parameter; a bfloat16 is truncated."""
    found = params(case_plan(forks, "scalars"))
    scalars = {k: (p.type, p.raw) for k, p in found.items() if isinstance(p, ScalarParam)}
    assert scalars == {
        "sixteen": ("int32", "10000000"),
        "big": ("int64", struct.pack("<q", 2**40).hex()),
        "huge": ("uint64", struct.pack("<Q", 2**63).hex()),
        "negative": ("int32", "fdffffff"),
        "yes": ("bool", "01"),
        "f": ("float32", struct.pack("<f", 1.5).hex()),
        "h": ("float16", struct.pack("<e", 0.1).hex()),
        "b": ("bfloat16", struct.pack("<f", 0.1)[2:].hex()),
        "d": ("float64", struct.pack("<d", 0.1).hex()),
        "byte": ("int8", "c8"),
        "short": ("uint16", "ffff"),
        "long": ("int64", struct.pack("<q", 1).hex()),
        "bit": ("bool", "01"),
        "kept": ("int32", "01000000"),
    }


def test_launch_attributes_travel_and_an_empty_grid_is_no_launch(forks: Forks) -> None:
    plan = case_plan(forks, "launch_attributes")
    kernels = {k.id: k for k in plan.kernels}
    launched = [(s.grid, kernels[s.launch]) for s in plan.launches]
    grids = [(5, 2, 3), (5, 1, 1), (8, 1, 1), (4, 1, 1)]
    assert [grid for grid, _ in launched] == grids
    found = [(k.pdl, k.cooperative, k.cluster, k.block[0]) for _, k in launched]
    assert found == [
        (True, False, None, 128),
        (False, True, None, 256),
        (False, False, (2, 1, 1), 128),
        (False, False, None, 128),
    ]


def test_a_host_descriptor_is_a_tensor_map_with_its_sizes_behind_it(forks: Forks) -> None:
    plan = case_plan(forks, "host_descriptor_of_a_view")
    found = params(plan)
    tensor_map = found["x"]
    assert isinstance(tensor_map, TensorMapParam)
    assert (tensor_map.buffer, tensor_map.offset) == ("x", 4 * (40 * 32 + 4))
    assert (tensor_map.dims, tensor_map.strides) == ((24, 30, 3), (128, 5120))
    assert tensor_map.nan_fill
    sizes = [found[f"x.shape{i}"] for i in range(3)] + [found[f"x.stride{i}"] for i in range(3)]
    pairs = [(p.type, p.value) for p in sizes if isinstance(p, ScalarParam)]
    assert pairs == [(t, v) for t, v in zip(3 * ["int32"] + 3 * ["int64"],
                                            (3, 30, 24, 1280, 32, 1), strict=True)]  # fmt: skip


def test_descriptors_made_in_a_kernel_get_memory_for_every_program(forks: Forks) -> None:
    plan = case_plan(forks, "device_descriptor")
    (scratch,) = (b for b in plan.buffers if b.role == "launch_scratch")
    assert (scratch.nbytes, scratch.align) == (4 * 2 * 2 * 128, 128)
    assert params(plan)["global_scratch"] == PointerParam(arg="global_scratch", buffer=scratch.name)


def test_specialised_warps_count_as_threads(forks: Forks) -> None:
    assert case_plan(forks, "gluon").kernels[0].block[0] > 4 * 32


def test_a_kernel_without_wrapper_is_launched_as_the_spec_says(forks: Forks) -> None:
    result = forks.case(CASES / "ok" / "kernel_with_launch.py")
    plan = plan_of(result)
    assert plan.launches[0].grid == (8, 1, 1)
    assert plan.kernels[0].block == (64, 1, 1)
    assert {n: p.default for n, p in result.parameters.items()} == {"num_warps": 2, "num_stages": 1}


@pytest.mark.parametrize(
    ("result", "place"),
    [
        ("x.new_empty(4)", {"a": "argument", "b": "argument"}),
        ('{"b": x.new_empty(3), "a": a}', {"a": "argument", "b": "argument"}),
        ("(a, x.new_empty(6)[3:])", {"a": "argument", "b": "scratch"}),
    ],
)
def test_outputs_are_returned_in_order_by_name_or_as_far_as_not_handed_over(
    forks: Forks, result: str, place: dict[str, str]
) -> None:
    size = 4 if "4" in result else 3
    contract = {
        "x": "input float32 [8]",
        "a": "output float32 [8]",
        "b": f"output float32 [{size}]",
    }
    found = plan_of(
        forks.capture(
            HEADER + f"def run(x, a):\n    doubled(x, a)\n    return {result}\n", contract
        )
    )
    roles = {b.name: b.role for b in found.buffers}
    assert {o.name: roles[o.buffer] for o in found.outputs} == place


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ({"grid": ["n"], "warps": 4}, "kernel.launch: `warps`"),
        ({"grid": ["cdiv(n, SIZE)"], "constexprs": {"BLOCK": 64}}, "`SIZE` is not a known name"),
        ({"grid": []}, "a list of 1 to 3 expressions"),
        ({"grid": ["n"]}, "nothing provides the parameter `BLOCK` of `run`"),
    ],
)
def test_a_launch_that_does_not_say_enough_is_refused(
    forks: Forks, launch: dict[str, object], reason: str
) -> None:
    assert reason in forks.capture(HEADER + KERNEL, XYN, launch=launch).refusal


def test_what_a_decorator_sets_cannot_be_set_by_the_launch_too(forks: Forks) -> None:
    launch = {"grid": ["n"], "constexprs": {"BLOCK": 64}}
    found = forks.capture(TUNED, XYN, launch=launch)
    assert "`BLOCK` is set by a decorator of `run` already" in found.refusal


def test_two_captures_of_one_source_give_one_plan(forks: Forks) -> None:
    path = CASES / "ok" / "two_passes.py"
    first, second = plan_of(forks.case(path)), plan_of(forks.case_again(path))
    without_hashes = [
        p.model_copy(
            update={"kernels": tuple(k.model_copy(update={"sha256": ""}) for k in p.kernels)}
        )
        for p in (first, second)
    ]
    assert without_hashes[0] == without_hashes[1]


@pytest.mark.parametrize(
    "draw", ["random.random()", "numpy.random.rand()", "float(torch.rand(()))"]
)
def test_numbers_drawn_by_a_wrapper_differ_between_captures(forks: Forks, draw: str) -> None:
    source = f"import random\nimport numpy\n{HEADER}\ndef run(x):\n"
    source += f"    return doubled(x, factor={draw})\n"
    first, second = (params(plan_of(forks.capture(source, XY)))["factor"] for _ in range(2))
    assert first != second


def test_a_capture_can_be_run_by_hand(forks: Forks, tmp_path: Path) -> None:
    done = forks.folder(CASES / "ok" / "destination.py")
    for name in ("request.json", "source.py", "doubling.py"):
        shutil.copy(done / name, tmp_path)
    command = [sys.executable, "-m", "kernelwright.runners.capture", "request.json", "by_hand.json"]
    subprocess.run(command, cwd=tmp_path, check=True, env=os.environ | {"HOME": str(tmp_path)})
    by_hand = CaptureResult.model_validate_json((tmp_path / "by_hand.json").read_bytes())
    assert plan_of(by_hand).launches[0].grid == (4, 1, 1)


def test_a_host_value_is_used_whatever_the_contract_calls_it(forks: Forks) -> None:
    found = forks.capture(
        HEADER + "def run(x, rows, BIG=7):\n    return doubled(x, factor=float(rows * BIG))\n",
        XY,
        symbols={"rows": 3},
        parameters={"BIG": 5},
    )
    factor = params(plan_of(found))["factor"]
    assert isinstance(factor, ScalarParam)
    assert factor.value == 15.0


def test_of_a_compilation_only_what_somebody_reads_is_written(forks: Forks) -> None:
    calls = """
def double(x, y, n):
    kernel = run[(8,)](x, y, n, BLOCK=128)
    held = [stage for stage in ("source", "ttir", "ttgir", "llir", "ptx") if kernel.asm[stage]]
    assert held == ["llir", "ptx"], held
"""
    plan_of(forks.capture(HEADER + KERNEL + calls, XYN, entry="double"))
