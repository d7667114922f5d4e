"""Reports of Nsight Compute read: what is whole, by which version, with what, and what is not."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import launch, module, report_file, run

from kernelwright.runners.errors import AccessError, ProfileFailed, ToolchainMissing
from kernelwright.runners.profiling import readers, reading
from kernelwright.runners.profiling.envelope import read_envelope, release


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "module_folders", lambda: ())
    monkeypatch.setattr(readers, "program", lambda: None)


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
    assert not {"not__there", "a_share_of_nothing.pct"} & set(first.metrics)
    assert first.metrics["sass__inst_executed_per_opcode"].instances == {"FFMA": 6, "LDG": 3}
    assert [(i.offset, i.line) for i in first.instructions] == [(0x10, 7), (0x20, 7)]
    assert first.instructions[0].counters == {"smsp__pcsamp_sample_count": 20}
    (advice,) = first.advice
    assert advice.message == "See Occupancy and the Guide."
    assert (advice.speedup_percent, advice.scope) == (25.0, "global")
    assert not list(tmp_path.glob("tmp*"))


def test_instances_of_a_metric_come_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = module(tmp_path / "m")
    monkeypatch.setattr(readers, "module_folders", lambda: (folder,))
    name, file = "smsp__pcsamp_sample_count", report(tmp_path)
    (plain,) = reading.read_profile(file, tmp_path).launches
    assert plain.metrics[name].instances == {}
    (asked,) = reading.read_profile(file, tmp_path, instances=[name]).launches
    assert asked.metrics[name].instances == {str(0x1010): 20, str(0x1020): 10, str(0x1030): 0}


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


@pytest.mark.skipif(find_spec(readers.MODULE) is None, reason="no ncu-report here")
def test_nvidias_own_module_reads_in_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "module_folders", lambda: (None,))
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
