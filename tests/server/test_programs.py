"""`kernelwright record` and `program`, as they are typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pretend_program import PretendedProgram
from typed import typed

from kernelwright.runners.recording.reading import read_recordings

HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
MAIN = "import sys; from kernelwright.server.cli import main; sys.exit(main())"
KERNEL = """extern "C" __global__ void in_place(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f + 1;
}
"""


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what the program says goes past Python."""
    command = [sys.executable, "-P", "-c", MAIN, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def recording(
    program: PretendedProgram, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder in which a program was recorded with its launches kept."""
    folder = tmp_path_factory.mktemp("typed")
    shim = ("record", "--front", "shim", "--keep", "--outdir", "rec")
    return folder, started(folder, *shim, "--", *program.command())


def test_the_program_speaks_and_then_the_report(
    recording: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    done = recording[1]
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("digest") < done.stdout.index("share")
    assert "slow_scale" in done.stdout
    assert "kept 4 launches" in done.stdout


def test_a_recording_is_looked_at_replayed_and_deleted(
    recording: tuple[Path, subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recording[0]
    monkeypatch.chdir(folder)
    report = json.loads(typed("program", "report", "rec", "--json").stdout)
    assert report["launches"] == 10
    assert report["kernels"][0]["name"] == "slow_scale"
    again = typed("program", "replay", "rec")
    assert "4 of 4 launches equal bit for bit; 3 of 3 kernels" in again.stdout
    assert again.returncode == 0
    (folder / "k.cu").write_text(KERNEL)
    words = ("program", "spec", "rec", "f1c2", "--to", "made")
    opened = typed(*words, "--source", "k.cu")
    assert (opened.returncode, "made/spec.json: workloads f1c2" in opened.stdout) == (0, True)
    assert "nothing is known of the source of in_place" in typed(*words).stderr
    unknown = typed("program", "keep", "rec", "--only", "f9c9")
    assert "no kernel of this recording is called f9c9" in unknown.stderr
    assert typed("program", "delete", "rec").stdout.startswith("removed ")
    assert not (folder / "rec").exists()


def test_what_a_program_fails_with_is_passed_on(program: PretendedProgram, tmp_path: Path) -> None:
    done = started(tmp_path, "record", "--front", "shim", "--", *program.command(mode="fail"))
    assert done.returncode == 1
    assert "no input file" in done.stderr
    assert "exit status 3" in done.stderr


def test_an_unknown_front_is_refused_with_those_that_are_there() -> None:
    done = typed("record", "--front", "nsys", "--", "true")
    assert (done.returncode, "Valid: cupti, shim" in done.stderr) == (1, True)


def test_ctrl_c_ends_the_program_and_reports_what_was_seen(
    program: PretendedProgram, tmp_path: Path
) -> None:
    words = ("record", "--front", "shim", "--outdir", "rec", "--", *program.command(mode="loop"))
    running = subprocess.Popen(  # where tests run in a shell's background, Ctrl-C is ignored
        [sys.executable, "-P", "-c", f"{HEARS}; {MAIN}", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not any(r.launches == 10 for r in read_recordings(tmp_path / "rec" / "count")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "ended by you" in err
    assert "10 launches of 3 kernels" in out
