"""The GPU that a spec asks for: of this machine where it fits, else from the table."""

from __future__ import annotations

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.specs.devices import NOT_LISTED, PROFILES, device_for
from kernelwright.runners.specs.spec import DeviceProfile

HERE = PROFILES[-1][0].model_copy(update={"uuid": "GPU-1"})


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
