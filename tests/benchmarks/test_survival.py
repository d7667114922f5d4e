"""A few of the faults of benchmarks/survival.py in a row against one workbench.

The whole of it, 200 faults, is a benchmark; here are the ones that take a second.
"""

from __future__ import annotations

import errno
import importlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lift import verdict
from tiers import cases

from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.errors import NoRoom, SpecError
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.loading.headers import folder_hash, require_unchanged
from kernelwright.runners.model import Ending
from kernelwright.runners.processes.crashes import REPORT, crash_of, explain
from kernelwright.runners.processes.disk_room import writing
from kernelwright.runners.processes.machine import memory_bytes, memory_share
from kernelwright.runners.processes.seccomp import has_seccomp
from kernelwright.search.session.workbench import Workbench

pytestmark = pytest.mark.usefixtures("brief_timing")  # no test asks how sure times are
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NEVER = 1e9
"""the gain that makes an incumbent: all are compared with the baseline alone, and soon settled"""
QUICK = (
    *("null pointer", "runner killed", "oracle killed", "scratch folder removed"),
    *("reference raises", "reference ends its process"),
)


@pytest.fixture(scope="module")
def survival() -> Iterator[Any]:
    before = list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("survival")
    finally:
        sys.path[:] = before


@pytest.mark.skipif(not has_seccomp(), reason="a self-inflicted kill is told by seccomp alone")
@cases("names", [QUICK[:2], QUICK[2:]], why="further faults of the same row")
def test_each_fault_has_its_own_ending_and_the_next_evaluation_is_right_and_nothing_stays(
    survival: Any, tmp_path: Path, names: tuple[str, ...]
) -> None:
    faults, _ = survival.faults_of("native", mounts=False)
    chosen = [fault for fault in faults if fault.name in names]
    assert len(chosen) == len(names)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        survivor = survival.Survivor(bench, "native", random.Random(5), NEVER)
        rows = [survivor.meet(fault) for fault in chosen]
    assert not [row for row in rows if not row.survived]


@pytest.mark.gpu
def test_each_fault_of_a_gpu_kernel_has_its_own_ending_and_leaves_nothing_on_the_gpu(
    survival: Any, tmp_path: Path
) -> None:
    probed = probe_devices(tmp_path / "probe")
    if not probed.devices:
        pytest.skip(f"no GPU: {probed.why_none}")
    faults, _ = survival.faults_of("device", mounts=False)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        survivor = survival.Survivor(bench, "device", random.Random(5))
        rows = [survivor.meet(fault) for fault in faults if not fault.heavy]
    assert not [row for row in rows if not row.survived]


def test_an_incumbent_that_fails_by_itself_is_refused_and_the_next_best_takes_its_place(
    survival: Any, tmp_path: Path
) -> None:
    subject = survival.Subject.of("native", tmp_path)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        kernel = bench.evaluator.open(subject.loaded)
        best = subject.honest(1)
        assert verdict(bench.evaluator, best).became_incumbent
        built = bench.evaluator.build(best).artifact
        assert built is not None
        (module,) = built.modules
        damaged = tmp_path / "out" / "modules" / f"{module.sha256}.so"
        damaged.write_bytes(damaged.read_bytes()[:4096])
        found = verdict(bench.evaluator, subject.honest(2))
        assert found.ending == Ending.faster, found.message
        refused = bench.evaluator.confirmation(best.variant.variant_id)
        assert refused is not None and not refused.accepted
        assert "times alone" in refused.message
        assert bench.evaluator.kernel(kernel.kernel_id).incumbent == found.variant_id


def test_every_kind_of_fault_is_drawn_at_least_once_and_the_draw_repeats(survival: Any) -> None:
    faults, skipped = survival.faults_of("native", mounts=False)
    drawn = survival.drawn(faults, 200, random.Random(1))
    assert len(drawn) == 200
    assert {fault.name for fault in drawn} == {fault.name for fault in faults}
    assert drawn == survival.drawn(faults, 200, random.Random(1))
    assert any("full" in name for name in skipped), "disks cannot be filled without mounts"


def test_a_leftover_is_what_there_is_more_of(survival: Any) -> None:
    leftovers = importlib.import_module("survival_leftovers")
    before = leftovers.Held({"descriptors": 9, "threads": 4}, {"log": 1})
    after = leftovers.Held({"descriptors": 11, "threads": 3}, {"log": 1, "core": 2})
    assert leftovers.leftovers(before, after) == ["2 more descriptors", "2 more core"]


def signal_report(number: int, code: int, address: int, stack: int, end: int) -> bytes:
    return REPORT.pack(b"X", number, code, address, stack, end, 0)


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (signal_report(11, 1, 0, 1 << 40, 1 << 20), "null pointer"),
        (signal_report(11, 1, 1 << 33, 1 << 40, 1 << 20), "none of its buffers"),
        (signal_report(11, 128, 0, 1 << 40, 1 << 20), "alignment"),
        (signal_report(11, 1, 1 << 20, (1 << 20) - 64, 1 << 20), "stack overflow"),
        (signal_report(8, 1, 0, 0, 0), "divided by zero"),
        (signal_report(4, 2, 0, 0, 0), "trap"),
    ],
)
def test_a_fatal_signal_is_explained(report: bytes, words: str) -> None:
    crash = crash_of(report)
    assert crash is not None
    assert words in "; ".join(explain(crash))


def test_what_is_no_whole_report_explains_nothing() -> None:
    assert crash_of(b"X") is None
    assert crash_of(b"D" * 64) is None


def test_a_share_of_the_memory_is_never_more_than_there_is() -> None:
    assert memory_share(1 << 60) <= memory_bytes() // 4 or memory_bytes() < 4 << 30
    assert memory_share(2 << 30, 1) <= 2 << 30


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "disk of .* is full"), (errno.EROFS, "cannot be written into")],
)
def test_a_folder_that_takes_nothing_is_named_with_what_to_do(
    number: int, words: str, tmp_path: Path
) -> None:
    with pytest.raises(NoRoom, match=words) as caught, writing(tmp_path, "machine code"):
        raise OSError(number, "as the system says it")
    assert str(tmp_path) in caught.value.message
    assert caught.value.next_step


def test_other_errors_of_the_file_system_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), writing(tmp_path, "machine code"):
        (tmp_path / "nowhere" / "file").write_text("")


SPEC: dict[str, Any] = {
    "name": "lift",
    "kernel": {
        "kernel_type": "cpp",
        "source_code": '#include "two.h"\nvoid lift(const float* x, float* y, int n) {\n'
        "    for (int i = 0; i < n; ++i) y[i] = TWO * x[i];\n}\n",
        "metadata": {"kernel_name": "lift"},
        "include_dirs": ["include"],
    },
    "io": {
        "arguments": [
            {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
        ],
        "bytes": "8 * n",
    },
    "symbols": {"n": {"min": 1, "max": 4096}},
    "workloads": [{"name": "usual", "symbols": {"n": 1024}}],
    "reference": {"source_code": "def reference(x, n):\n    return 2 * x\n"},
}


def with_header(folder: Path, two: str) -> LoadedKernel:
    (folder / "include").mkdir(exist_ok=True)
    (folder / "include" / "two.h").write_text(f"#define TWO {two}\n", encoding="utf-8")
    return load_data(SPEC, folder, Roots([folder]))


def test_a_header_that_changes_after_the_kernel_was_opened_refuses_builds_and_is_named(
    tmp_path: Path,
) -> None:
    opened = with_header(tmp_path, "2.0f")
    require_unchanged(opened.include_dirs, opened.include_hashes)
    changed = with_header(tmp_path, "3.0f")
    with pytest.raises(SpecError, match=r"two\.h") as caught:
        require_unchanged(opened.include_dirs, opened.include_hashes)
    assert "open_kernel" in caught.value.next_step
    assert changed.kernel_id != opened.kernel_id, "with other headers it is another kernel"
    assert with_header(tmp_path, "2.0f").kernel_id == opened.kernel_id


def test_what_is_no_header_does_not_change_a_folder_of_headers(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("int a;\n", encoding="utf-8")
    (tmp_path / "Dense").write_text("int dense;\n", encoding="utf-8")
    before = folder_hash(tmp_path)
    for name, content in {"state.sqlite": b"1", "notes.txt": b"2", "tool": b"\x7fELF\0"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.h").write_text("int x;\n", encoding="utf-8")
    assert folder_hash(tmp_path) == before
    (tmp_path / "Dense").write_text("int denser;\n", encoding="utf-8")
    assert folder_hash(tmp_path) != before


def test_a_kernel_without_include_folders_keeps_the_name_it_had(tmp_path: Path) -> None:
    spec = json.loads(json.dumps(SPEC))
    del spec["kernel"]["include_dirs"]
    spec["kernel"]["source_code"] = spec["kernel"]["source_code"].replace("TWO", "2.0f")
    loaded = load_data(spec, tmp_path, Roots([tmp_path]))
    older = loaded.model_dump(mode="json", exclude={"include_hashes"})
    assert LoadedKernel.model_validate(older).kernel_id == loaded.kernel_id
