"""Builds that go wrong beside builds that do not: each caller gets the answer to its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import lift
import psutil
import pytest

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.zygote import GRACE_S
from kernelwright.runners.errors import ProcessLost
from kernelwright.runners.processes.sandbox import landlock_abi
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest

pytestmark = pytest.mark.usefixtures("own_zygotes")


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[Builder]:
    made = Builder(tmp_path / "modules", tmp_path / "scratch")
    yield made
    made.close()


def zygotes() -> list[psutil.Process]:
    found = list[psutil.Process]()
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if "kernelwright.runners.building.zygote" in child.cmdline():
                found.append(child)
    return found


def test_a_build_that_is_overdue_is_ended_alone(builder: Builder, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as callers:
        good = callers.submit(builder.build, lift.build_request(tmp_path, 12))
        overdue = callers.submit(builder.build, lift.build_request(tmp_path, 6, timeout_s=-GRACE_S))
        with pytest.raises(ProcessLost, match="did not end in time"):
            overdue.result()
        assert good.result().artifact is not None
    (before,) = zygotes()
    assert builder.build(lift.build_request(tmp_path, 3)).artifact is not None
    assert zygotes() == [before]


def test_equal_builds_at_the_same_time_are_one(builder: Builder, tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def build(repeat: int) -> BuildOutcome:
        both.wait()
        return builder.build(lift.build_request(tmp_path, repeat))

    with ThreadPoolExecutor(2) as callers:
        one, other = callers.map(build, (6, 6))
        assert one is other
        one, other = callers.map(build, (6, 3))
        assert one.artifact is not None and other.artifact is not None
        assert one.artifact.variant_id != other.artifact.variant_id


def test_a_build_process_that_breaks_is_told_by_its_last_error_and_keeps_the_traceback_in_a_file(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lift.build_request(tmp_path, 12)

    def nonsense(_: BuildRequest, **__: object) -> dict[str, str]:
        return {"kernel": "nonsense"}

    monkeypatch.setattr(BuildRequest, "model_dump", nonsense)
    with pytest.raises(ProcessLost) as raised:
        builder.build(made)
    told = str(raised.value)
    assert told.startswith("the build process failed: ") and "Traceback" not in told
    log = tmp_path / "build_process.log"
    assert str(log) in told
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_builds_go_on_after_the_zygote_was_killed_under_them(
    builder: Builder, tmp_path: Path
) -> None:
    for repeat in (12, 6, 3):
        with ThreadPoolExecutor(1) as callers:
            caught = callers.submit(builder.build, lift.build_request(tmp_path, repeat))
            while not zygotes():
                pass
            for zygote in zygotes():
                zygote.kill()
            with pytest.raises(ProcessLost, match="the build was killed from outside") as raised:
                caught.result()
            assert "Traceback" not in str(raised.value) and "try again" in raised.value.next_step
    assert builder.build(lift.build_request(tmp_path, 1)).artifact is not None


@pytest.mark.skipif(landlock_abi() == 0, reason="no landlock in this kernel")
@pytest.mark.parametrize("line", ['#include "{}"', 'asm(".incbin \\"{}\\"");'])
def test_a_source_names_no_file_that_is_not_the_kernels_or_the_systems(
    line: str, builder: Builder, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.h"
    foreign.write_text("#error of somebody else\n")
    asked = lift.build_request(tmp_path, 1)
    source = line.format(foreign) + "\n" + asked.variant.source
    variant = asked.variant.model_copy(update={"source": source})
    outcome = builder.build(asked.model_copy(update={"variant": variant}))
    assert outcome.artifact is None
    assert str(foreign) in outcome.message
    assert "of somebody else" not in outcome.message


@pytest.mark.parametrize("flag", ["-fsyntax-only", "-S", "-E", "-M", "-###"])
def test_flags_that_leave_no_shared_object_are_a_build_that_failed(
    flag: str, builder: Builder, tmp_path: Path
) -> None:
    asked = lift.build_request(tmp_path, 1)
    options = asked.variant.options.model_copy(update={"flags": (flag,)})
    variant = asked.variant.model_copy(update={"options": options})
    outcome = builder.build(asked.model_copy(update={"variant": variant}))
    assert outcome.artifact is None
    assert "do its flags ask for one?" in outcome.message


def test_a_source_that_asks_for_the_time_does_not_build(builder: Builder, tmp_path: Path) -> None:
    asked = lift.build_request(tmp_path, 1)
    source = "static const char built[] = __TI\\\nME__;\n" + asked.variant.source
    variant = asked.variant.model_copy(update={"source": source})
    outcome = builder.build(asked.model_copy(update={"variant": variant}))
    assert "might prevent reproducible builds" in outcome.message


def test_a_source_becomes_the_same_file_in_every_folder(builder: Builder, tmp_path: Path) -> None:
    asked = lift.build_request(tmp_path, 1)
    options = asked.variant.options.model_copy(update={"flags": ("-O2", "-g")})
    asked = asked.model_copy(
        update={"variant": asked.variant.model_copy(update={"options": options})}
    )
    first, second = (builder.build(asked).artifact for _ in range(2))
    assert first is not None and second is not None
    assert first.modules == second.modules
