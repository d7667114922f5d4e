"""What Triton sources launch, read without a GPU in a process of its own."""

from __future__ import annotations

from typing import Any

from kernelwright.runners.building.plain_triton import launched_plainly
from kernelwright.runners.capture.launches import Launches
from kernelwright.runners.capture.messages import CaptureRequest
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.io_contract import Contract

SOURCE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, by * tl.load(x + at, mask=at < n), mask=at < n)


def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, 0.5, BLOCK=64)
    return y
"""


def _read(source: str, n: int, entry: str = "scale", **more: Any) -> Launches:
    arrays: list[dict[str, Any]] = [
        {"name": name, "role": role, "dtype": "float32", "shape": ["n"]}
        for name, role in (("x", "input"), ("y", "output"))
    ]
    request = CaptureRequest(
        source_path="kernel_module.py",
        entry=entry,
        contract=Contract.model_validate({"arguments": arrays}),
        symbols={"n": n},
        label="read",
        device=PROFILES[0][0],
        **more,
    )
    found = launched_plainly(source, (request.model_dump_json(),))
    assert not isinstance(found, str), found
    return found[0]


def test_a_launch_tells_its_grid_its_values_and_the_arguments_that_its_arrays_are() -> None:
    (launch,) = _read(SOURCE, 130).launches
    assert (launch.kernel, launch.grid) == ("scale_kernel", (3, 1, 1))
    told = [(h.name, h.kind, h.type, h.array, h.value) for h in launch.handed]
    assert told == [
        ("x", "array", "*fp32", "x", None),
        ("y", "array", "*fp32", "y", None),
        ("n", "int", "i32", "", 130),
        ("by", "float", "fp32", "", 0.5),
        ("BLOCK", "constant", "", "", 64),
    ]
    assert "tt.func public @scale_kernel" in launch.ttir


def test_a_size_of_one_stays_a_parameter() -> None:
    (launch,) = _read(SOURCE, 1).launches
    assert [h.type for h in launch.handed if h.name == "n"] == ["i32"]


def test_what_a_source_raises_is_told() -> None:
    broken = SOURCE.replace("n = x.numel()", "n = x.nothing()")
    assert "nothing" in _read(broken, 8).refusal
