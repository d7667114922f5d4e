"""From plans to raw bytes and memsets, what errors say, our PTX, our processes. Without a GPU."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.device import support
from kernelwright.runners.device.cuda_driver.binding import (
    attributes,
    memsets,
    pack_params,
    relocated,
)
from kernelwright.runners.device.cuda_driver.faults import REFUSED, STICKY, DriverFault, fault_of
from kernelwright.runners.device.cuda_driver.launches import (
    CLUSTER,
    CLUSTER_POLICY,
    COOPERATIVE,
    PROGRAMMATIC,
)
from kernelwright.runners.device.presence import registry
from kernelwright.runners.plans.plan import Fill, Launch, PlanBuffer, PlanKernel, TensorMapParam

DEVICE = Path(support.__file__).parent
AT = {"x": 1 << 33, "y": (1 << 34) + 256}


def launch(*params: dict[str, Any]) -> Launch:
    return Launch.model_validate({"launch": "k", "grid": [1, 1, 1], "params": list(params)})


def unasked(param: TensorMapParam, address: int) -> bytes:
    raise AssertionError(f"no tensor map was asked for: {param.arg}, {address}")


def test_pointers_are_addresses_scalars_their_raw_bytes_and_null_is_null() -> None:
    step = launch(
        {"arg": "x", "type": "ptr", "buffer": "x", "offset": 32},
        {"arg": "n", "type": "int32", "value": -2, "raw": "feffffff"},
        {"arg": "s", "type": "bytes", "value": None, "raw": "0102030405"},
        {"arg": "z", "type": "ptr", "buffer": None},
    )
    assert pack_params(step, AT, unasked) == (
        struct.pack("<Q", (1 << 33) + 32),
        b"\xfe\xff\xff\xff",
        b"\x01\x02\x03\x04\x05",
        bytes(8),
    )


def test_a_tensor_map_is_encoded_at_its_buffer_and_offset() -> None:
    asked = list[int]()

    def encode(param: TensorMapParam, address: int) -> bytes:
        asked.append(address)
        return bytes(128)

    shape = {"dims": [8, 4], "strides": [32], "box": [8, 4], "dtype": 7}
    step = launch({"arg": "m", "type": "tensormap", "buffer": "y", "offset": 64, **shape})
    assert pack_params(step, AT, encode) == (bytes(128),)
    assert asked == [AT["y"] + 64]


def test_addresses_are_put_into_constants() -> None:
    buffer = PlanBuffer.model_validate(
        {
            "name": "t",
            "role": "const",
            "nbytes": 20,
            "align": 8,
            "pointers": [{"at": 4, "buffer": "x", "offset": 8}, {"at": 12, "buffer": "y"}],
        }
    )
    made = relocated(buffer, b"abcd" + bytes(16), AT)
    assert made == b"abcd" + struct.pack("<QQ", AT["x"] + 8, AT["y"])


def test_launch_attributes_come_in_tritons_order() -> None:
    kernel = PlanKernel(id="k", entry="k", sha256="", cluster=(2, 1, 1), cooperative=True, pdl=True)
    assert attributes(kernel) == (
        (PROGRAMMATIC, (1,)),
        (COOPERATIVE, (1,)),
        (CLUSTER, (2, 1, 1)),
        (CLUSTER_POLICY, (1,)),
    )
    assert attributes(PlanKernel(id="k", entry="k", sha256="")) == ()


@given(st.binary(min_size=1, max_size=8), st.integers(1, 20), st.integers(0, 16))
def test_memsets_write_the_pattern_over_and_over_and_nothing_else(
    pattern: bytes, times: int, offset: int
) -> None:
    fill = Fill(fill="x", offset=offset, nbytes=len(pattern) * times, pattern=pattern.hex())
    memory = np.full(offset + fill.nbytes + 16, 0xEE, dtype=np.uint8)
    for each in memsets(fill, {"x": 0}):
        assert each.address % each.width == 0
        assert each.pitch % each.width == 0
        for number in range(each.count):
            at = each.address + number * each.pitch
            word = each.value.to_bytes(each.width, "little")
            memory[at : at + each.width] = np.frombuffer(word, dtype=np.uint8)
    wanted = b"\xee" * offset + pattern * times + b"\xee" * 16
    assert memory.tobytes() == wanted


@pytest.mark.parametrize(
    ("pattern", "offset", "count"),
    [("00", 1, 1), ("00000000", 0, 1), ("0000c07f", 4, 1), ("0000c07f", 2, 2), ("01" * 8, 3, 1)],
)
def test_fills_take_as_few_memsets_as_their_pattern_allows(
    pattern: str, offset: int, count: int
) -> None:
    fill = Fill(fill="x", offset=offset, nbytes=64, pattern=pattern)
    assert len(memsets(fill, {"x": 256})) == count


def test_sticky_errors_lose_the_process_and_refusals_do_not() -> None:
    lost = fault_of(DriverFault("CUDA_ERROR_ILLEGAL_ADDRESS", "cuEventQuery"), " (kernel `k`)")
    assert (lost.kind, lost.lost) == ("crashed", True)
    assert lost.detail.startswith("illegal address:")
    assert lost.detail.endswith("(kernel `k`)")
    kept = fault_of(DriverFault("CUDA_ERROR_NO_BINARY_FOR_GPU", "cuModuleLoadData"))
    assert (kept.kind, kept.lost) == ("refused", False)
    assert kept.detail == "refused: the machine code is for another GPU"


def test_an_error_without_words_is_told_by_its_name_and_call() -> None:
    told = DriverFault("CUDA_ERROR_SOMETHING_NEW", "cuGraphLaunch")
    assert told.message == "cuGraphLaunch failed with CUDA_ERROR_SOMETHING_NEW"
    assert not told.sticky
    assert not STICKY.keys() & REFUSED.keys()


def test_the_ptx_was_made_from_the_source_that_lies_beside_it() -> None:
    first = (DEVICE / "support.ptx").read_text(encoding="ascii").splitlines()[0]
    digest = hashlib.sha256((DEVICE / "support.cu").read_bytes()).hexdigest()
    assert first == f"// support.cu, sha256 {digest}", "make support"


def test_nvcc_makes_the_same_ptx_again(tmp_path: Path) -> None:
    lines = (DEVICE / "support.ptx").read_text(encoding="ascii").splitlines()[1:]
    release = next(line for line in lines if "release" in line).split("release ")[1]
    nvcc = shutil.which("nvcc")
    if nvcc is None or release not in subprocess.check_output([nvcc, "--version"], text=True):
        pytest.skip(f"needs nvcc {release}")
    made = tmp_path / "support.ptx"
    command = [nvcc, "-ptx", "-arch=compute_75", "-o", str(made), str(DEVICE / "support.cu")]
    subprocess.run(command, check=True)
    fresh = made.read_text(encoding="ascii").splitlines()
    newer = [line for line in fresh if not line.startswith(".version")]
    assert newer == [line for line in lines if not line.startswith(".version")]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_our_ptx_assembles_for_old_and_new_gpus(arch: str, tmp_path: Path) -> None:
    if shutil.which("ptxas") is None:
        pytest.skip("needs ptxas")
    target = tmp_path / "support.cubin"
    command = ["ptxas", f"-arch={arch}", "-o", str(target), str(DEVICE / "support.ptx")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_registered_are_those_that_live_and_began_when_they_say(tmp_path: Path) -> None:
    registry.register(tmp_path)
    (tmp_path / "1").write_text("12345678901234", encoding="ascii")
    (tmp_path / "999999999").write_text("1", encoding="ascii")
    assert registry.registered(tmp_path) == {os.getpid()}
    assert [file.name for file in tmp_path.iterdir()] == [str(os.getpid())]
