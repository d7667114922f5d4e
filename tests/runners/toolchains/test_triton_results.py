"""What the build child of a Triton kernel leaves behind is checked before it is believed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from triton_adds import ADD, WRAPPER, artifact_of, request_of, spec

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.errors import SpecError
from kernelwright.runners.plans.plan import Artifact, module_name
from kernelwright.runners.toolchains import BuildOutcome
from kernelwright.runners.toolchains.artifact_check import checked_artifact
from kernelwright.runners.toolchains.triton_jit import TritonJit

pytestmark = pytest.mark.skipif(
    TritonJit().missing() is not None, reason=str(TritonJit().missing())
)


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    folder = tmp_path_factory.mktemp("triton")
    made = Builder(folder / "modules", folder / "scratch")
    yield made
    made.close()


@pytest.fixture(scope="module")
def three(builder: Builder) -> BuildOutcome:
    """The launch of `add` for three shapes."""
    return builder.build(request_of(spec(ADD, "add"), ("main", "odd", "one")))


def test_a_forged_result_is_not_believed(builder: Builder, three: BuildOutcome) -> None:
    """The plan of another candidate's fast kernel, without its machine code."""
    plan = artifact_of(three).plans["main"].model_dump(mode="json")
    forged = json.dumps({"plan": plan, "modules": []})
    source = WRAPPER.replace(
        "    out =",
        "    import os\n"
        "    for name in ('0', 'again'):\n"
        f"        open(name + '.json', 'w').write({forged!r})\n"
        "    os._exit(0)\n    out =",
    )
    outcome = builder.build(request_of(spec(source, "run")))
    assert outcome.rejected and "in no module" in outcome.message


@pytest.fixture
def left(builder: Builder, three: BuildOutcome, tmp_path: Path) -> Path:
    """A folder as a build child leaves it."""
    for module in artifact_of(three).modules:
        shutil.copyfile(builder.module_path(module), tmp_path / module_name(module))
    return tmp_path


def tampered(artifact: Artifact, **step: Any) -> Artifact:
    plan = artifact.plans["main"]
    launch = plan.launches[0].model_copy(update=step)
    plans = artifact.plans | {"main": plan.model_copy(update={"steps": (launch,)})}
    return artifact.model_copy(update={"plans": plans})


def test_the_server_works_out_the_hash_of_the_code_itself(three: BuildOutcome, left: Path) -> None:
    artifact = artifact_of(three)
    lying = artifact.model_copy(update={"code_hash": "0" * 16})
    request = request_of(spec(ADD, "add"), ("main", "odd", "one"))
    assert checked_artifact(request, lying, left, "device") == artifact


@pytest.mark.parametrize("what", ["a parameter", "a grid", "a module", "a link", "a plan too few"])
def test_an_artifact_that_is_not_right_is_refused(
    three: BuildOutcome, left: Path, what: str
) -> None:
    artifact = artifact_of(three)
    params = artifact.plans["main"].launches[0].params
    code = left / module_name(artifact.modules[0])
    if what == "a parameter":
        artifact = tampered(artifact, params=params[:-1])
    elif what == "a grid":
        artifact = tampered(artifact, grid=(1 << 40, 1, 1))
    elif what == "a module":
        code.write_bytes(code.read_bytes()[:-1] + b"x")
    elif what == "a link":
        code.rename(left / "elsewhere")
        code.symlink_to(left / "elsewhere")
    else:
        plans = {label: p for label, p in artifact.plans.items() if label != "odd"}
        artifact = artifact.model_copy(update={"plans": plans})
    with pytest.raises(SpecError):
        request = request_of(spec(ADD, "add"), ("main", "odd", "one"))
        checked_artifact(request, artifact, left, "device")
