"""Builds that were done before are found again, and only those that would give the same."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import kernels
import pytest

from kernelwright.runners.building import compile_cache as cc
from kernelwright.runners.building.compile_cache import CompileCache
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.plans.plan import Artifact, Module
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape

CODE = b"machine code"
SHA = hashlib.sha256(CODE).hexdigest()


@pytest.fixture
def request_(tmp_path: Path) -> BuildRequest:
    (tmp_path / "kernel").mkdir()
    tiny = kernels.tiny_kernel(tmp_path / "kernel")
    kernel = load_file(tiny.folder / "spec.json", Roots([tmp_path]))
    return BuildRequest(
        kernel=kernel,
        variant=kernel.baseline(),
        shapes=(Shape(label="main", symbols={"n": 64}),),
        device=PROFILES[0][0],
    )


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "header.cuh"
    path.write_text("#define N 1")
    return path


def outcome(*dependencies: Path) -> BuildOutcome:
    module = Module(sha256=SHA, kind="so", nbytes=len(CODE))
    return BuildOutcome(
        artifact=Artifact(
            variant_id="v", toolchain="t", target="x", modules=(module,), plans={}, code_hash="0"
        ),
        dependencies=tuple(map(str, dependencies)),
    )


def filled(tmp_path: Path, request: BuildRequest, made: BuildOutcome) -> CompileCache:
    built = tmp_path / "built"
    built.mkdir()
    (built / f"{SHA}.so").write_bytes(CODE)
    cache = CompileCache(tmp_path / "cache")
    cache.keep(request, made, built)
    return cache


def test_an_equal_build_is_found_with_its_modules(
    tmp_path: Path, request_: BuildRequest, header: Path
) -> None:
    filled(tmp_path, request_, outcome(header))
    found = CompileCache(tmp_path / "cache").find(request_)
    assert found is not None
    assert found[0] == outcome(header)
    assert (found[1] / f"{SHA}.so").read_bytes() == CODE


def variant(request: BuildRequest, **changes: Any) -> BuildRequest:
    return request.model_copy(update={"variant": request.variant.model_copy(update=changes)})


def test_what_does_not_decide_the_result_is_not_asked_for(
    tmp_path: Path, request_: BuildRequest, header: Path
) -> None:
    cache = filled(tmp_path, request_, outcome(header))
    assert request_.device is not None
    here = request_.device.model_copy(update={"uuid": "GPU-1"})
    assert cache.find(request_.model_copy(update={"timeout_s": 7.0, "device": here}))


@pytest.mark.parametrize("change", ["source", "flags", "parameters", "shapes", "device"])
def test_another_build_is_not_found(
    tmp_path: Path, request_: BuildRequest, header: Path, change: str
) -> None:
    cache = filled(tmp_path, request_, outcome(header))
    others = {
        "source": variant(request_, source=request_.variant.source + "\n"),
        "flags": variant(request_, options=BuildOptions(flags=("-O2",))),
        "parameters": variant(request_, parameters={"UNROLL": 4}),
        "shapes": request_.model_copy(update={"shapes": (Shape(label="main", symbols={"n": 65}),)}),
        "device": request_.model_copy(update={"device": PROFILES[1][0]}),
    }
    assert cache.find(others[change]) is None


@pytest.mark.parametrize("change", ["edited", "gone"])
def test_a_build_whose_headers_changed_is_not_found(
    tmp_path: Path, request_: BuildRequest, header: Path, change: str
) -> None:
    cache = filled(tmp_path, request_, outcome(header))
    if change == "edited":
        header.write_text("#define N 2")
    else:
        header.unlink()
    assert cache.find(request_) is None


def test_a_large_file_counts_by_size_and_time(
    tmp_path: Path, request_: BuildRequest, header: Path
) -> None:
    header.write_bytes(bytes(cc.HASHED_BYTES + 1))
    cache = filled(tmp_path, request_, outcome(header))
    assert cache.find(request_)
    os.utime(header, (1, 1))
    assert cache.find(request_) is None


def test_a_later_build_takes_the_place_of_one_that_no_longer_counts(
    tmp_path: Path, request_: BuildRequest, header: Path
) -> None:
    cache = filled(tmp_path, request_, outcome(header))
    header.write_text("#define N 2")
    cache.keep(request_, outcome(header), tmp_path / "built")
    assert cache.find(request_)
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [cc.request_key(request_)]


def test_only_results_that_say_what_they_depend_on_are_kept(
    tmp_path: Path, request_: BuildRequest
) -> None:
    for number, made in enumerate((outcome(), outcome(tmp_path / "missing"), outcome(tmp_path))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert filled(folder, request_, made).find(request_) is None


def test_a_failed_build_is_not_kept(tmp_path: Path, request_: BuildRequest, header: Path) -> None:
    failed = BuildOutcome(message="no", dependencies=(str(header),))
    assert filled(tmp_path, request_, failed).find(request_) is None


def test_a_damaged_entry_is_not_found(tmp_path: Path, request_: BuildRequest, header: Path) -> None:
    cache = filled(tmp_path, request_, outcome(header))
    (tmp_path / "cache" / cc.request_key(request_) / cc.MANIFEST).write_text("{")
    assert cache.find(request_) is None


def test_the_entries_that_were_not_used_for_longest_go_first(
    tmp_path: Path, request_: BuildRequest, header: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cc, "MAX_ENTRIES", 4)
    cache = filled(tmp_path, request_, outcome(header))
    requests = [variant(request_, parameters={"UNROLL": n}) for n in range(10, 14)]
    for age, request in enumerate(requests):
        os.utime(tmp_path / "cache" / cc.request_key(request_), (10, 10))
        cache.keep(request, outcome(header), tmp_path / "built")
        if cache.find(request):
            os.utime(tmp_path / "cache" / cc.request_key(request), (100 + age, 100 + age))
    assert cache.find(request_) is None
    assert all(cache.find(request) for request in requests)
