"""A program recorded, opened, changed and judged by a client, on the pretended driver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import psutil
import pytest
from mcp import Client
from pretend_program import PretendedProgram
from server_talk import call, ended, refused, result_of, talk

LOOP = r"loop ([0-9.]+) ms"
SHIM = "kernelwright.runners.recording.recording.choose_front"
KERNEL = """extern "C" __global__ void in_place(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f + 1;
}
"""


def by_the_shim(libraries: object, wanted: object = None) -> str:
    return "shim"


@pytest.fixture(scope="module")
def project(program: PretendedProgram, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with machine code to put in, recorded by its client with launches kept."""
    folder = tmp_path_factory.mktemp("recorded")
    for file in (program.slow, program.fast, program.wrong):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "k.cu").write_text(KERNEL)
    return folder


@pytest.fixture(scope="module", autouse=True)
def without_times() -> Iterator[None]:
    """The pretended driver is seen by the shim alone; where CUPTI is, it would be chosen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SHIM, by_the_shim)
        yield


def test_a_client_records_a_program_opens_a_kernel_and_puts_another_in(
    program: PretendedProgram, project: Path
) -> None:
    short, long = program.command(), program.command(rounds=100)

    async def body(client: Client) -> None:
        told = await result_of(client, "record_program", command=short, recording="r", keep=True)
        assert told["kernels"][0]["name"] == "slow_scale"
        assert (told["ending"], told["not_kept"]) == ("exit status 0", {})
        assert {each["label"] for each in told["kernels"] if each["kept"]} >= {"f0c0", "f1c2"}
        assert told["next"][0].startswith("open_recorded ")
        assert json.loads(Path(told["report"]).read_text())["launches"] == 10

        taken = {"recording": "r", "label": "f1c2"}
        opened = await result_of(client, "open_recorded", **taken, to="made", source="k.cu")
        assert (Path(opened["spec_path"]), opened["workloads"]) == (
            project / "made" / "spec.json",
            ["f1c2"],
        )
        assert opened["next"] == [f'open_kernel {{"spec_path": "{opened["spec_path"]}"}}']

        await result_of(client, "record_program", command=long, recording="long")
        put = {"recording": "long", "label": "f0c0", "entry": "slow_scale", "metric": LOOP}
        wrong = await result_of(client, "verify_program", **put, cubin="wrong.so", pairs=2)
        assert (wrong["outcome"], wrong["installed"]) == ("not equal", False)
        faster = {"cubin": "fast.so", "pairs": 4, "install": True}
        found = await result_of(client, "verify_program", **put, **faster)
        assert (found["outcome"], found["installed"]) == ("faster", True), found
        assert found["interval"][0] > 1

    talk(project / "state", project, body)


def test_what_cannot_be_done_comes_back_as_a_sentence(
    program: PretendedProgram, project: Path
) -> None:
    async def body(client: Client) -> None:
        absent = await refused(client, "record_program", command=["no-such-program"])
        assert "there is no program 'no-such-program'" in absent
        assert "is no recording" in await refused(
            client, "open_recorded", recording="b", label="x", to="c"
        )
        outside = await refused(
            client, "record_program", command=["true"], recording="/tmp/elsewhere"
        )
        assert "outside the allowed roots" in outside
        idle = await refused(client, "record_program", command=["true"], recording="idle")
        assert "never used the GPU" in idle
        both = {"variant_id": "v0123456789ab", "cubin": "a", "entry": "b"}
        assert "exactly one of variant_id" in await refused(
            client, "verify_program", label="f0c0", **both
        )
        assert "command" in await refused(client, "record_program", command=[])

    talk(project / "state", project, body)


def test_a_program_that_runs_too_long_is_ended_by_cancelling_its_job(
    program: PretendedProgram, project: Path
) -> None:
    async def body(client: Client) -> None:
        command = program.command(mode="loop")
        job = await call(client, "record_program", command=command, recording="endless", wait_s=0)
        while not any((project / "endless" / "count").glob("*/summary.json")):
            await anyio.sleep(0.02)
        await call(client, "cancel_job", job_id=job["job_id"])
        assert (await ended(client, job["job_id"]))["status"] == "cancelled"

    talk(project / "state", project, body)
    assert not [p for p in psutil.process_iter(["cmdline"]) if "loop" in (p.info["cmdline"] or ())]
