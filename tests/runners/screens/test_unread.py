"""Inputs that a kernel does not read are found before it runs, in sources and in machine code."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.screens.source import static_screen
from kernelwright.runners.screens.unread import unread_buffers
from kernelwright.runners.specs.io_contract import Contract

KNOWN = {"kind": "ones", "constant": True, "reason": "a mask of this mesh"}


def contract(init: Any = "ones") -> Contract:
    """y = f(x, w), with w filled as given."""
    array = {"dtype": "float32", "shape": ["n"]}
    arguments = [
        {"name": "x", "role": "input", **array},
        {"name": "w", "role": "input", "init": init, **array},
        {"name": "y", "role": "output", **array},
        {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
    ]
    return Contract.model_validate({"arguments": arguments})


def found(parameters: str, body: str, init: Any = "ones", kind: str = "cpp") -> list[str]:
    """The inputs that the static screen finds unread, each asking for the fuller gates."""
    mark = "__global__ " if kind == "cuda" else ""
    source = f"{mark}void f({parameters}) {{ {body} }}"
    result = static_screen(source, kind, "f", contract(init))
    told = [f for f in result.evidence.get("findings", ()) if "is an input" in f["reason"]]
    assert all(each["tier"] == "probe" for each in told)
    return [each["name"] for each in told]


NAMED = "const float* x, const float* v, float* y, int n"


@pytest.mark.parametrize("kind", ["cpp", "cuda"])
@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        (NAMED, "y[0] = x[0];"),
        (NAMED, "(void)v; y[0] = x[0];"),
        ("const float* x, const float*, float* y, int n", "y[0] = x[0];"),
    ],
)
def test_a_parameter_that_is_never_named_is_an_input_that_is_not_read(
    parameters: str, body: str, kind: str
) -> None:
    assert found(parameters, body, kind=kind) == ["w"]


@pytest.mark.parametrize(
    "body",
    ["y[0] = x[0] * v[0];", "auto in = v; y[0] = x[0] * *in;", "g(x, v, y);"],
)
def test_what_is_named_under_whatever_name_may_be_read(body: str) -> None:
    assert found(NAMED, body) == []


def test_an_input_that_the_spec_calls_constant_need_not_be_read() -> None:
    assert found(NAMED, "y[0] = x[0];", KNOWN) == []


def test_nothing_is_said_of_a_function_with_other_parameters_than_the_contract() -> None:
    assert found("const float* x, float* y", "y[0] = x[0];") == []


PTX = """
.visible .entry f(
    .param .u64 .ptr .align 1 f_param_0,
    .param .u64 f_param_1,
    .param .u64 f_param_2
)
.maxntid 256
{
    ld.param.b64 %rd1, [f_param_0];
    ld.param.b64 %rd2, [f_param_2];
    ret;

}
"""


def plan(*buffers: str) -> LaunchPlan:
    """One launch of `f` with these buffers."""
    return LaunchPlan.model_validate(
        {
            "label": "w",
            "kernels": [{"id": "k", "entry": "f", "sha256": "0"}],
            "buffers": [],
            "steps": [
                {
                    "launch": "k",
                    "grid": [1, 1, 1],
                    "params": [{"arg": b, "type": "ptr", "buffer": b} for b in buffers],
                }
            ],
            "outputs": [],
        }
    )


def test_a_parameter_that_no_instruction_names_is_an_input_that_is_not_read() -> None:
    (only,) = unread_buffers([plan("x", "w", "y")], {"0": PTX}, contract())
    assert (only.tier, only.name) == ("probe", "w")
    assert "no instruction names its parameter" in only.reason
    assert unread_buffers([plan("w", "y", "x")], {"0": PTX}, contract()) == []


def test_a_buffer_that_no_launch_is_given_is_an_input_that_is_not_read() -> None:
    (only,) = unread_buffers([plan("x", "y", "y")], {"0": PTX}, contract())
    assert (only.name, "no launch is given it" in only.reason) == ("w", True)


def test_without_a_listing_every_buffer_that_is_given_may_be_read() -> None:
    assert unread_buffers([plan("x", "w", "y")], {}, contract()) == []
    assert unread_buffers([plan("x", "w", "y")], {"0": PTX[:200]}, contract()) == []


def test_a_constant_that_no_instruction_names_is_none_of_our_business() -> None:
    assert unread_buffers([plan("x", "w", "y")], {"0": PTX}, contract(KNOWN)) == []
