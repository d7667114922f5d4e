"""Reports of Nsight Compute read: what is whole, by which version, with what, and what is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import launch, report_file, run

from kernelwright.runners.errors import AccessError, ProfileFailed, ToolchainMissing
from kernelwright.runners.profiling import readers, reading
from kernelwright.runners.profiling.envelope import read_envelope, release

MODULE = '''\
"""Stands in for NVIDIA's module: its interface, over launches that this file names."""
class Values:
    def __init__(self, value, ids=()):
        self.told, self.ids = value, list(ids)
    def value(self, index=None):
        return self.told if index is None else self.ids[index][1]
    def unit(self): return "ns"
    def num_instances(self): return len(self.ids)
    def has_correlation_ids(self): return bool(self.ids)
    def correlation_ids(self): return Values(0, [(0, key) for key, _ in self.ids])
class Place:
    def file_name(self): return "k.cu"
    def line(self): return 7
SAMPLES = Values(30, [(0x1010, 20), (0x1020, 10), (0x1030, 0)])
METRICS = {{"gpu__time_duration.sum": Values(1500), "launch__grid_dim_x": Values(4.0),
    "device__attribute_display_name": Values("a GPU"), "smsp__pcsamp_sample_count": SAMPLES,
    "launch__function_pcs": Values(1, [(0, 0x1000)]),
    "sass__inst_executed_per_opcode": Values(9, [("FFMA", 6), ("LDG", 3)])}}
class Action:
    def __init__(self, number): self.number = number
    def name(self, base=0): return {name!r} and ({name!r} if base == 0 else "_Z1k")
    def metric_names(self): return [*METRICS, "not__there"]
    def metric_by_name(self, name): return METRICS.get(name)
    def sass_by_pc(self, pc): return "FFMA R1, R2, R3, R4"
    def ptx_by_pc(self, pc): return ""
    def source_info(self, pc): return Place()
    def rule_results_as_dicts(self):
        told = {{"title": "Tail Effect", "type": 2,
            "message": "See @section:Occupancy:Occupancy@ and the @url:Guide:https://x.y/z#a@."}}
        return [{{"rule_identifier": "LaunchConfiguration", "name": "n", "rule_message": told,
            "speedup_estimation": {{"type": 2, "speedup": 25.0}}}},
            {{"rule_identifier": "Silent", "rule_message": {{"type": 0, "message": ""}}}}]
class Range:
    def num_actions(self): return {launches}
    def action_by_idx(self, index): return Action(index)
class Context:
    def get_version(self): return {version!r}
    def num_ranges(self): return 1
    def range_by_idx(self, index): return Range()
def load_report(path): return Context()
'''


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "module_folders", lambda: ())
    monkeypatch.setattr(readers, "program", lambda: None)


def module(folder: Path, version: str = "2026.3.1", launches: int = 1, name: str = "k") -> Path:
    folder.mkdir()
    text = MODULE.format(version=version, launches=launches, name=name)
    (folder / "ncu_report.py").write_text(text, encoding="utf-8")
    return folder


def report(tmp_path: Path, content: bytes | None = None) -> Path:
    file = tmp_path / "a.ncu-rep"
    file.write_bytes(report_file() if content is None else content)
    return file


def ncu(tmp_path: Path, raw: str, details: str = "", status: int = 0) -> Path:
    """A program that prints tables, as `ncu --import` does."""
    program = tmp_path / "ncu"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"page = sys.argv[sys.argv.index('--page') + 1]\n"
        f"print({raw!r} if page == 'raw' else {details!r})\nsys.exit({status})\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


@given(st.binary(max_size=300), st.integers(min_value=0))
def test_a_report_that_was_cut_off_anywhere_is_no_whole_report(payload: bytes, cut: int) -> None:
    whole = report_file(payload=payload[:127])
    assert read_envelope(whole).damage == ""
    last = len(whole) - 1
    at = cut % last + 1
    boundary = len(b"NVR\0") + 4 + 2  # behind the file's header alone: a report of nothing
    assert read_envelope(whole[:at]).damage or at == boundary


@given(st.binary(max_size=64))
def test_no_bytes_make_the_envelope_raise(content: bytes) -> None:
    read_envelope(content)
    read_envelope(b"NVR\0" + content)


def test_the_version_that_wrote_a_report_is_found() -> None:
    assert read_envelope(report_file("2025.3.1")).version == "2025.3.1"
    assert release("2025.3.1") == (2025, 3)
    assert release("") is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"==PROF== Connected", "does not begin"),
        (report_file(payload=b"abc")[:-1], "cut off"),
    ],
)
def test_what_is_no_whole_report_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(ProfileFailed, match=why):
        reading.read_profile(report(tmp_path, content), tmp_path)


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="No such file"):
        reading.read_profile(tmp_path / "none.ncu-rep", tmp_path)


def test_without_any_reader_the_package_to_install_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolchainMissing, match=r"kernelwright\[ncu\]"):
        reading.read_profile(report(tmp_path), tmp_path)


def test_launches_come_with_metrics_advice_and_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = module(tmp_path / "m", launches=2)
    monkeypatch.setattr(readers, "module_folders", lambda: (folder,))
    profile = reading.read_profile(report(tmp_path), tmp_path)
    assert (profile.written_by, profile.read_by) == ("2025.3.1", "ncu-report 2026.3.1")
    first, second = profile.launches
    assert first == second
    assert (first.kernel, first.name, first.device) == ("_Z1k", "k", "a GPU")
    assert first.shape.grid == (4, 1, 1)
    assert first.nanoseconds == 1500
    assert "not__there" not in first.metrics
    assert first.metrics["sass__inst_executed_per_opcode"].instances == {"FFMA": 6, "LDG": 3}
    assert [(i.offset, i.line) for i in first.instructions] == [(0x10, 7), (0x20, 7)]
    assert first.instructions[0].counters == {"smsp__pcsamp_sample_count": 20}
    (advice,) = first.advice
    assert advice.message == "See Occupancy and the Guide."
    assert (advice.speedup_percent, advice.scope) == (25.0, "global")
    assert not list(tmp_path.glob("tmp*"))


def test_a_module_older_than_the_report_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = module(tmp_path / "old", "2025.1.0"), module(tmp_path / "new", "2025.3.0")
    monkeypatch.setattr(readers, "module_folders", lambda: (old, new))
    assert reading.read_profile(report(tmp_path), tmp_path).read_by == "ncu-report 2025.3.0"


def test_a_report_newer_than_every_reader_names_the_one_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = module(tmp_path / "old", "2025.1.0")
    monkeypatch.setattr(readers, "module_folders", lambda: (old,))
    with pytest.raises(ProfileFailed, match=r"ncu-report>=2027\.1"):
        reading.read_profile(report(tmp_path, report_file("2027.1.0")), tmp_path)


def test_a_report_without_launches_says_that_nothing_was_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = module(tmp_path / "m", launches=0)
    monkeypatch.setattr(readers, "module_folders", lambda: (folder,))
    with pytest.raises(ProfileFailed, match="no kernel was profiled"):
        reading.read_profile(report(tmp_path), tmp_path)


def test_a_launch_without_a_name_is_never_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = module(tmp_path / "m", name="")
    monkeypatch.setattr(readers, "module_folders", lambda: (folder,))
    with pytest.raises(ProfileFailed, match="a launch without a name"):
        reading.read_profile(report(tmp_path), tmp_path)


def test_a_module_that_crashes_leaves_the_report_to_ncu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "ncu_report.py").write_text("import os; os.abort()", encoding="utf-8")
    program = ncu(tmp_path, RAW)
    monkeypatch.setattr(readers, "module_folders", lambda: (broken,))
    monkeypatch.setattr(readers, "program", lambda: program)
    assert reading.read_profile(report(tmp_path), tmp_path).read_by == "ncu --csv"


def test_an_ncu_that_cannot_import_the_report_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ncu(tmp_path, "==ERROR== Failed to open", status=1)
    monkeypatch.setattr(readers, "program", lambda: program)
    with pytest.raises(ProfileFailed, match="Failed to open"):
        reading.read_profile(report(tmp_path), tmp_path)


def test_a_report_of_another_kernel_is_refused_by_name() -> None:
    profile = run(launch({}, kernel="softmax"))
    reading.check_kernels(profile, ["softmax", "scale"])
    reading.check_kernels(profile, [])
    with pytest.raises(ProfileFailed, match="another kernel: `softmax`"):
        reading.check_kernels(profile, ["scale"])


RAW = """\
"ID","Kernel Name","Block Size","Grid Size","Device","CC","gpu__time_duration.sum"
"","","","","","","ns"
"0","k","(128, 1, 1)","(80, 1, 1)","0","9.0","1,500"
"""
