"""What a cubin tells of itself, plans that do not fit it, and its hash."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.device.cuda_driver.code import keeps_state
from kernelwright.runners.errors import SpecError
from kernelwright.runners.machine_code.cubin import (
    CubinInfo,
    reaches_local,
    read_cubin,
    read_symbols,
)
from kernelwright.runners.machine_code.cubin_check import check_cubin
from kernelwright.runners.machine_code.cubin_hash import device_code_hash, entry_hash
from kernelwright.runners.machine_code.elf import read_sections
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.specs.devices import PROFILES

NVCC = shutil.which("nvcc")
pytestmark = pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH")
H100 = PROFILES[0][0]
SHA = "0" * 64

SOURCE = """
#include <cstdio>
__constant__ float lut[16];
__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};
struct Pair { float* p; int n; double d; };
extern "C" __global__ void __launch_bounds__(256)
mix(const float* x, float* y, int n, Pair pair, bool flag) {
  __shared__ float s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x & 63] = x[i];
  __syncthreads();
  if (i < n) y[i] = s[(threadIdx.x + 1) & 63] * lut[i & 15] + pair.p[0] * pair.d
                  + (flag ? table[i & 3] : 0.0f);
  atomicAdd(&counter, 1);
  if (n < 0) printf("n is %d", n);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(double* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void __launch_bounds__(1024, 1) big(float* x) {
  float a[200];
  for (int i = 0; i < 200; ++i) a[i] = x[i * 1024 + threadIdx.x];
  for (int i = 0; i < 200; ++i) x[i * 1024 + threadIdx.x] = a[199 - i] * a[i];
}
"""


def build(folder: Path, source: str, *flags: str, arch: str = "sm_90a") -> bytes:
    (folder / "k.cu").write_text(source, encoding="utf-8")
    command = [str(NVCC), f"-arch={arch}", "-cubin", *flags, "k.cu", "-o", "k.cubin"]
    subprocess.run(command, check=True, cwd=folder, timeout=120, capture_output=True)
    return (folder / "k.cubin").read_bytes()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build(tmp_path_factory.mktemp("cubin"), SOURCE, "-lineinfo")


@pytest.fixture(scope="module")
def info(image: bytes) -> CubinInfo:
    return read_cubin(image)


def test_parameters_are_read_with_their_offsets_and_sizes(info: CubinInfo) -> None:
    assert info.entries["mix"].params == ((0, 8), (8, 8), (16, 4), (24, 24), (48, 1))


def test_limits_of_a_kernel_are_read(info: CubinInfo) -> None:
    mix = info.entries["mix"]
    assert (mix.max_threads, mix.exact_block, mix.cluster) == (256, None, None)
    assert (mix.static_shared, mix.barriers, mix.stack) == (256, 1, 8)
    assert mix.registers > 0 and mix.instructions > 20
    assert info.entries["pairs"].cluster == (2, 1, 1)


def test_shared_memory_that_the_system_keeps_is_not_the_kernel_s(
    tmp_path: Path, info: CubinInfo
) -> None:
    older = read_cubin(
        build(tmp_path, SOURCE.replace("__cluster_dims__(2, 1, 1)", ""), arch="sm_80")
    )
    assert older.capability == 80
    assert older.entries["mix"].static_shared == info.entries["mix"].static_shared == 256


def test_variables_are_read(info: CubinInfo) -> None:
    sizes = {n: (g.size, g.writable) for n, g in info.globals.items() if not n.startswith("$")}
    assert sizes == {"lut": (64, False), "counter": (4, True), "table": (16, True)}


def test_state_is_what_a_kernel_can_write_and_what_a_step_copies_into_a_variable(
    tmp_path: Path, info: CubinInfo
) -> None:
    constant = (
        '__constant__ float lut[4];\nextern "C" __global__ void k(float* x) { *x = lut[1]; }\n'
    )
    pure = read_cubin(build(tmp_path, constant))
    given = {"symbol": "lut", "kernel": "k0", "raw": "00", "nbytes": 1}
    copied = {"symbol": "lut", "kernel": "k0", "buffer": "x", "nbytes": 4}
    assert keeps_state(plan(), [info])
    assert not keeps_state(plan(), [pure])
    assert not keeps_state(plan(steps=(given,)), [pure])
    assert keeps_state(plan(steps=(copied,)), [pure])
    code = build(tmp_path, constant.replace("__constant__", "__device__"))
    (lut,) = (s for s in read_symbols(read_sections(code)) if s.name == "lut")
    row = struct.pack("<BHQQ", lut.other, lut.section, lut.value, lut.size)
    at = code.index(row) - 1  # the kind, which tells variables from the rest
    unlisted = read_cubin(code[:at] + b"\0" + code[at + 1 :])
    assert not unlisted.globals
    assert keeps_state(plan(), [unlisted])


def test_functions_that_nothing_defines_are_read(info: CubinInfo) -> None:
    assert info.unresolved == ("vprintf",)


@given(cut=st.floats(0, 0.999), byte=st.integers(0, 255), at=st.floats(0, 0.999))
def test_a_damaged_cubin_is_refused_or_read_never_anything_else(
    image: bytes, cut: float, byte: int, at: float
) -> None:
    spoilt = bytearray(image)
    spoilt[int(len(image) * at)] = byte
    for content in (image[: int(len(image) * cut)], bytes(spoilt)):
        try:
            read_cubin(content)
        except SpecError as error:
            assert "no cubin" in error.message


POINTERS = [{"arg": "x", "type": "ptr", "buffer": "x"}, {"arg": "y", "type": "ptr", "buffer": "x"}]
MIX = [
    *POINTERS,
    {"arg": "n", "type": "int32", "value": 4, "raw": "04000000"},
    {"arg": "pair", "type": "bytes", "value": None, "raw": "00" * 24},
    {"arg": "flag", "type": "bool", "value": 1, "raw": "01"},
]


def plan(
    entry: str = "mix",
    params: list[dict[str, Any]] = MIX,
    grid: tuple[int, int, int] = (4, 1, 1),
    steps: tuple[dict[str, Any], ...] = (),
    **kernel: Any,
) -> LaunchPlan:
    attributes = {"block": (256, 1, 1)} | kernel
    return LaunchPlan.model_validate(
        {
            "label": "main",
            "kernels": [{"id": "k0", "entry": entry, "sha256": SHA} | attributes],
            "buffers": [{"name": "x", "role": "argument", "nbytes": 64, "align": 16}],
            "steps": [*steps, {"launch": "k0", "grid": grid, "params": params}],
            "outputs": [],
        }
    )


def refusal(checked: LaunchPlan, info: CubinInfo) -> str:
    with pytest.raises(SpecError) as caught:
        check_cubin(checked, {SHA: info}, H100)
    return str(caught.value)


def test_a_plan_that_fits_its_machine_code_passes(info: CubinInfo) -> None:
    check_cubin(plan(), {SHA: info}, H100)


WRONG = {
    "another name": (plan(entry="mixx"), "did you mean `mix`?"),
    "a parameter too few": (plan(params=MIX[:-1]), "4 parameters for `mix`, which takes 5"),
    "a parameter too many": (plan(params=[*MIX, MIX[0]]), "6 parameters"),
    "a narrow parameter": (
        plan(params=[*MIX[:2], MIX[4], *MIX[3:]]),
        "step 0: parameter `flag` has 1 bytes",
    ),
    "a block beyond the launch bounds": (plan(block=(512, 1, 1)), "up to 256"),
    "too much shared memory": (plan(shared=H100.shared_per_block), "256 static"),
    "a grid that its cluster does not divide": (
        plan(entry="pairs", params=POINTERS[:1], grid=(3, 1, 1)),
        "multiples of its cluster (2, 1, 1)",
    ),
    "another cluster": (plan(entry="pairs", params=POINTERS[:1], cluster=(4, 1, 1)), "(2, 1, 1)"),
    "a symbol that is not there": (
        plan(steps=({"symbol": "lat", "kernel": "k0", "raw": "00", "nbytes": 1},)),
        "did you mean `lut`?",
    ),
    "a symbol that is too small": (
        plan(steps=({"symbol": "lut", "kernel": "k0", "offset": 63, "raw": "0000", "nbytes": 2},)),
        "it holds 64 bytes",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_plan_that_does_not_fit_its_machine_code_is_refused(case: str, info: CubinInfo) -> None:
    checked, words = WRONG[case]
    assert words in refusal(checked, info)


def test_a_plan_that_needs_more_memory_than_the_gpu_has_is_refused(info: CubinInfo) -> None:
    huge = plan().buffers[0].model_copy(update={"name": "tmp", "nbytes": H100.memory_bytes})
    said = refusal(plan().model_copy(update={"buffers": (*plan().buffers, huge)}), info)
    assert f"take {H100.memory_bytes + 64} bytes" in said and H100.name in said


def test_a_plan_without_its_module_is_refused() -> None:
    with pytest.raises(SpecError, match="in no module"):
        check_cubin(plan(), {}, H100)


def test_too_many_registers_for_a_block_are_refused(tmp_path: Path) -> None:
    source = SOURCE.replace("__launch_bounds__(1024, 1) big", "big")
    heavy = read_cubin(build(tmp_path, source))
    assert heavy.entries["big"].registers > 64
    found = refusal(plan(entry="big", params=POINTERS[:1], block=(1024, 1, 1)), heavy)
    assert "a smaller block" in found


def test_a_block_that_was_compiled_in_is_the_only_one(info: CubinInfo) -> None:
    from dataclasses import replace

    exact = replace(info.entries["mix"], exact_block=(128, 1, 1))
    fixed = replace(info, entries={"mix": exact})
    assert "(128, 1, 1), which it was compiled for" in refusal(plan(), fixed)


REFUSED = {
    "relocatable code": (SOURCE, ("-rdc=true",), "without -rdc=true"),
    "managed memory": (SOURCE.replace("__device__ int", "__managed__ int"), (), "__managed__"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_machine_code_that_cannot_be_loaded_is_refused(tmp_path: Path, case: str) -> None:
    source, flags, words = REFUSED[case]
    assert words in refusal(plan(), read_cubin(build(tmp_path, source, *flags)))


def test_machine_code_for_another_gpu_is_refused(tmp_path: Path) -> None:
    source = SOURCE.replace("__cluster_dims__(2, 1, 1)", "")
    older = read_cubin(build(tmp_path, source, arch="sm_80"))
    assert "machine code for sm_80" in refusal(plan(), older)


def test_calls_that_only_a_linker_could_resolve_are_refused(info: CubinInfo) -> None:
    from dataclasses import replace

    calling = replace(info, unresolved=("cudaLaunchDevice", "vprintf"))
    assert "nothing defines cudaLaunchDevice" in refusal(plan(), calling)


SAME = {
    "comments and lines": (SOURCE.replace("\n", "\n\n// more\n"), ()),
    "renamed variables": (
        SOURCE.replace("threadIdx.x & 63", "threadIdx.x & 63U").replace("pair", "couple"),
        (),
    ),
    "a renamed kernel": (SOURCE.replace("\nmix(", "\nmixture("), ()),
    "renamed globals": (SOURCE.replace("lut", "values").replace("counter", "zero"), ()),
    "another kernel beside it that is renamed": (SOURCE.replace("big(", "large("), ()),
    "debug data": (SOURCE, ("-lineinfo",)),
}
OTHER = {
    "another constant": (SOURCE.replace("+ 1) & 63", "+ 3) & 63"), ()),
    "another initial value": (SOURCE.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}"), ()),
    "other launch bounds": (SOURCE.replace("__launch_bounds__(256)", "__launch_bounds__(128)"), ()),
    "more shared memory": (SOURCE.replace("float s[64]", "float s[65]"), ()),
    "another variable read": (SOURCE.replace("table[i & 3]", "lut[i & 3]"), ()),
}


@pytest.mark.parametrize("change", SAME)
def test_what_leaves_the_instructions_alone_leaves_the_hash_alone(
    tmp_path: Path, image: bytes, change: str
) -> None:
    source, flags = SAME[change]
    name = "mixture" if "mixture(" in source else "mix"
    assert entry_hash(build(tmp_path, source, *flags), name) == entry_hash(image, "mix")


@pytest.mark.parametrize("change", OTHER)
def test_what_changes_the_instructions_changes_the_hash(
    tmp_path: Path, image: bytes, change: str
) -> None:
    source, flags = OTHER[change]
    assert entry_hash(build(tmp_path, source, *flags), "mix") != entry_hash(image, "mix")


def test_kernels_of_one_module_differ(image: bytes) -> None:
    assert entry_hash(image, "pairs") != entry_hash(image, "mix")


def test_a_plan_counts_in_the_hash_and_its_names_do_not(tmp_path: Path, image: bytes) -> None:
    def hashed(checked: LaunchPlan, code: bytes = image) -> str:
        return device_code_hash({"main": checked}, {SHA: code})

    renamed = [{**MIX[0], "arg": "renamed"}, *MIX[1:]]
    twin = build(tmp_path, SOURCE.replace("\nmix(", "\nmixture("))
    assert hashed(plan(params=renamed)) == hashed(plan())
    assert hashed(plan(entry="mixture"), twin) == hashed(plan())
    assert hashed(plan(grid=(8, 1, 1))) != hashed(plan())
    assert hashed(plan(shared=64)) != hashed(plan())


def test_variables_that_a_plan_sets_count_by_where_they_lie_not_by_their_names(
    tmp_path: Path,
) -> None:
    """`a - b` and `b - a` are the same instructions where the two variables change places."""

    def hashed(declared: str, difference: str, **values: str) -> str:
        source = (
            f"__constant__ float {declared};\n"
            f'extern "C" __global__ void mix(float* y) {{ *y = {difference}; }}\n'
        )
        steps = [
            {"symbol": name, "kernel": "k0", "raw": raw, "nbytes": 4}
            for name, raw in values.items()
        ]
        code = build(tmp_path, source)
        return device_code_hash({"main": plan(params=MIX[:1], steps=tuple(steps))}, {SHA: code})

    one, two = "0000803f", "00000040"
    first = hashed("a, b", "a - b", a=one, b=two)
    assert hashed("b, a", "b - a", a=one, b=two) != first
    assert hashed("c, d", "c - d", c=one, d=two) == first


def test_kernels_that_share_variables_are_not_those_that_have_their_own(image: bytes) -> None:
    other = "1" * 64
    kernels = [{"id": f"k{n}", "entry": "mix", "sha256": SHA, "block": (256, 1, 1)} for n in (0, 1)]
    together = LaunchPlan.model_validate({**plan().model_dump(), "kernels": kernels})
    kernels[1]["sha256"] = other
    apart = LaunchPlan.model_validate({**plan().model_dump(), "kernels": kernels})
    images = {SHA: image, other: image}
    assert device_code_hash({"main": together}, images) != device_code_hash({"main": apart}, images)


def test_the_hash_of_a_plan_without_its_module_is_refused() -> None:
    with pytest.raises(SpecError, match="in no module"):
        device_code_hash({"main": plan()}, {})


@pytest.mark.parametrize(
    ("statement", "reaches"),
    [
        ("*y = *x; atomicAdd(y, *x);", False),
        (
            'asm volatile("{ .reg .b64 a; cvta.local.u64 a, 512; st.f32 [a], %0; }" :: "f"(*x));',
            True,
        ),
    ],
)
def test_local_memory_is_reached_by_its_name_and_by_an_address(
    tmp_path: Path, statement: str, reaches: bool
) -> None:
    source = f'extern "C" __global__ void k(const float* x, float* y) {{ {statement} }}'
    assert reaches_local(build(tmp_path, source)) is reaches
