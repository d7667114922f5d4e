"""The GPU that a spec asks for: of this machine where it fits, else from the table."""

from __future__ import annotations

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.specs.devices import NOT_LISTED, PROFILES, device_for
from kernelwright.runners.specs.gpu_table import GPUS
from kernelwright.runners.specs.spec import DeviceProfile

HERE = PROFILES[4][0].model_copy(update={"uuid": "GPU-1"})


def test_a_gpu_of_this_machine_comes_before_the_table() -> None:
    assert device_for(DeviceProfile(arch="native"), [HERE]) == HERE
    assert device_for(DeviceProfile(arch="native"), []) == PROFILES[0][0]


def test_a_name_and_an_architecture_choose_together() -> None:
    found = device_for(DeviceProfile(gpu_name="A100", arch="sm_80"), [HERE])
    assert found.name == "NVIDIA A100-SXM4-80GB"
    assert device_for(DeviceProfile(gpu_name="H100", arch="sm_90"), []).arch == "sm_90a"


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (DeviceProfile(gpu_name="RTX 9999"), "gpu_name: no GPU `RTX 9999` is known"),
        (DeviceProfile(arch="sm_42"), "arch: `sm_42` is not known"),
        (DeviceProfile(arch="hopper"), "arch: `hopper` is not known"),
        (DeviceProfile(gpu_name="A100", arch="sm_90"), "`sm_90` is not known for A100"),
    ],
)
def test_what_nobody_knows_is_refused_with_what_is_known(
    profile: DeviceProfile, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        device_for(profile, [])
    assert words in caught.value.message and caught.value.valid
    assert caught.value.next_step == NOT_LISTED


@pytest.mark.parametrize(
    ("name", "whole", "arch"),
    [
        ("RTX 3090", "NVIDIA GeForce RTX 3090", "sm_86"),
        ("rtx 4090", "NVIDIA GeForce RTX 4090", "sm_89"),
        ("RTX 5090", "NVIDIA GeForce RTX 5090", "sm_120a"),
        ("A10", "NVIDIA A10", "sm_86"),
        ("L4", "NVIDIA L4", "sm_89"),
        ("L40", "NVIDIA L40S", "sm_89"),
        ("B200", "NVIDIA B200", "sm_100a"),
        ("GB200", "NVIDIA GB200", "sm_100a"),
        ("T4", "Tesla T4", "sm_75"),
        ("Thor", "NVIDIA Thor", "sm_110a"),
        ("V100", "Tesla V100-SXM2-32GB", "sm_70"),
        ("A100", "NVIDIA A100-SXM4-80GB", "sm_80"),
    ],
)
def test_a_card_is_found_by_the_name_that_people_call_it(name: str, whole: str, arch: str) -> None:
    found = device_for(DeviceProfile(gpu_name=name), [])
    assert (found.name, found.arch) == (whole, arch)


@pytest.mark.parametrize(
    "arch", ["70", "75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"]
)
def test_every_architecture_from_volta_to_blackwell_can_be_built_for(arch: str) -> None:
    assert device_for(DeviceProfile(arch=f"sm_{arch}"), []).capability == int(arch)


def test_an_unknown_card_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError) as caught:
        device_for(DeviceProfile(gpu_name="RTX 4080"), [])
    assert caught.value.valid.startswith("the nearest: NVIDIA GeForce RTX 4090")
    assert "H100" not in caught.value.valid


def test_figures_have_their_source_and_fit_together() -> None:
    for gpu in GPUS:
        assert gpu.source
        if gpu.peaks is not None:
            bandwidth, fp32, tf32, fp16, fp64 = gpu.peaks
            double_rate = gpu.memory_clock * 2 * gpu.bus / 8 / 1000
            assert 0.9 < double_rate / bandwidth < 1.1, gpu.name
            assert fp64 <= fp32 <= tf32 <= fp16
