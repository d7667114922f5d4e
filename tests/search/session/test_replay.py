"""A variant's folder, built, checked and timed again where nothing else is known of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from kernels import DOES_NOT_BUILD, WRONG, tiny_kernel

from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.loading.files import load_file
from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.outdir.kernel_files import KernelFiles
from kernelwright.search.session.replay import recorded, replay
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.variants import variant_from
from kernelwright.store.records import VariantRecord


@pytest.fixture(scope="module")
def folder(bench: Workbench) -> Path:
    """The folder of a variant that does not build."""
    home = bench.outdir.parent
    tiny_kernel(home)
    kernel = bench.evaluator.open(load_file(home / "spec.json", bench.roots))
    base = bench.evaluator.variant(kernel.baseline).variant
    broken = variant_from(kernel, base, Candidate(method="m", source=DOES_NOT_BUILD))
    bench.evaluator.evaluate(VariantRecord(variant=broken, parent=kernel.baseline, method="m"))
    files = KernelFiles(bench.store, bench.outdir).write(kernel.kernel_id)
    return files / "variants" / broken.variant_id


def test_a_verdict_that_holds_is_told_from_one_that_does_not(folder: Path, tmp_path: Path) -> None:
    """The folder of a kernel is enough, wherever it lies."""
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder.parents[1], moved)
    copy = moved / "variants" / folder.name
    with Workbench(tmp_path / "out", [copy]) as bench:
        again = replay(bench, recorded(copy))
        assert again.recorded.variant.variant_id == folder.name
        assert again.holds and "again:    build_failed" in again.told()

        (copy / "kernel.cpp").write_text(WRONG, encoding="utf-8")
        other = replay(bench, recorded(copy))
        assert other.again.ending == Ending.wrong and not other.holds
        assert other.told().endswith("the verdict does not hold")


def test_a_folder_of_something_else_is_refused_with_what_one_looks_like(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(AccessError, match="OUT/kernels/NAME/variants/ID"):
        recorded(tmp_path)
    alone = tmp_path / "alone"
    shutil.copytree(folder, alone)
    with pytest.raises(AccessError, match=r"no kernel\.json"):
        recorded(alone)


def test_its_control_file_stands_for_the_folder(folder: Path) -> None:
    assert recorded(folder / "control.json") == recorded(folder)


def test_files_that_say_no_variant_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder.parents[1], tmp_path / "k")
    copy = tmp_path / "k" / "variants" / folder.name
    control = json.loads((copy / "control.json").read_text(encoding="utf-8"))
    del control["options"]
    (copy / "control.json").write_text(json.dumps(control), encoding="utf-8")
    with pytest.raises(SpecError, match="options"):
        recorded(copy)
