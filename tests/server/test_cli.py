"""The command line as a user meets it: a tiny kernel, real builds, a few evaluations."""

from __future__ import annotations

import errno
import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import psutil
import pytest
from brief_timing import COMMAND
from kernels import with_known_peaks
from rich.console import Console
from typed import typed
from typer.testing import CliRunner

from kernelwright.runners.errors import SpecError
from kernelwright.search.outdir.overview import searches
from kernelwright.search.session.inputs.spec_files import find_specs
from kernelwright.search.session.optimize import Event, Failed
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import StepReport
from kernelwright.server import cli
from kernelwright.server.headless import (
    FAILED,
    IMPROVED,
    NOTHING_GAINED,
    Headless,
    exit_status,
    run,
)
from kernelwright.server.live import PlainLines
from kernelwright.server.tables import kernel_table
from kernelwright.store.kernels import kernel_records
from kernelwright.store.store import STATE_FILE, Store

SOURCE = """\
void twice(const float* x, float* y, int n) {
  for (int i = 0; i < n; i++) {
    volatile float value = x[i];
    for (int r = 1; r < REPEAT; r++) value = x[i];
    y[i] = 2.0f * value;
  }
}
"""
REFERENCE = "def reference(x, n):\n    return 2 * x\n"
STARTED = (sys.executable, "-c", "from kernelwright.server.cli import main; main()")
EXAMPLES = Path(__file__).parents[2] / "examples"


def spec(repeats: list[int]) -> dict[str, Any]:
    """A kernel whose baseline repeats its work as often as the first value says."""
    arguments = [
        {"name": "x", "role": "input", "dtype": "float32", "shape": ["N"]},
        {"name": "y", "role": "output", "dtype": "float32", "shape": ["N"]},
        {"name": "n", "role": "scalar", "dtype": "int32", "value": "N"},
    ]
    return {
        "name": "twice",
        "kernel": {
            "kernel_type": "cpp",
            "source_code": SOURCE,
            "metadata": {"kernel_name": "twice"},
        },
        "io": {"arguments": arguments, "bytes": "8 * N", "flops": "N"},
        "symbols": {"N": {"max": 65536}},
        "workloads": [
            {"name": "small", "symbols": {"N": 3000}},
            {"name": "unseen", "symbols": {"N": 4001}, "held_out": True},
        ],
        "parameters": {"REPEAT": {"values": repeats}},
        "reference": {"source_code": REFERENCE},
    }


def write_spec(folder: Path, repeats: list[int]) -> Path:
    path = folder / "spec.json"
    path.write_text(json.dumps(spec(repeats)), encoding="utf-8")
    return path


def words_of(folder: Path, *options: str) -> list[str]:
    """A search of the folder's spec, whose outdir knows its machine."""
    with_known_peaks(folder / "out")
    given = ["optimize", "--input", str(folder / "spec.json"), "--outdir", str(folder / "out")]
    return [*given, *options]


def optimize(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return typed(*words_of(folder, *options))


@dataclass(frozen=True)
class Run:
    folder: Path
    done: subprocess.CompletedProcess[str]

    @property
    def files(self) -> Path:
        return self.folder / "out" / "kernels" / "twice"

    def summary(self) -> dict[str, Any]:
        return json.loads((self.files / "best_summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def fruitless(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A search whose one build was no better."""
    folder = tmp_path_factory.mktemp("fruitless")
    write_spec(folder, [1, 64])
    return Run(folder, optimize(folder, "--budget-builds", "1"))


@pytest.fixture(scope="module")
def improved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A search that found the one better value there is, by a process as users start it, timed as
    theirs are; the second build, after threads that pay nothing."""
    folder = tmp_path_factory.mktemp("improved")
    write_spec(folder, [64, 1])
    command = [*STARTED, *words_of(folder, "--budget-builds", "2", "--no-llm")]
    return Run(folder, subprocess.run(command, capture_output=True, text=True, check=False))


def test_a_confirmed_gain_ends_with_status_0_and_a_table(improved: Run) -> None:
    assert improved.done.returncode == 0, improved.done.stderr
    assert "REPEAT=1" in improved.done.stdout
    assert "the baseline, confirmed on 1 shape and 1 held out (" in improved.done.stdout
    assert "held-out workloads checked: unseen" in improved.done.stdout
    assert "varied: seeds, order, calls (in a row" in improved.done.stdout
    assert "buffers (memory of their own each time, at offsets " in improved.done.stdout
    assert "OpenMP's variables (" in improved.done.stdout
    assert str(improved.files) in improved.done.stdout
    assert "the winner reaches" in improved.done.stdout


def test_one_number_is_told_of_a_winner_wherever_it_is_told(improved: Run) -> None:
    low, high = improved.summary()["interval"]
    told = f"{improved.summary()['speedup']:.3g}x ({low:.3g} to {high:.3g})"
    assert f"is {told} the baseline, confirmed on " in improved.done.stdout
    assert improved.done.stdout.count(f"{told}, confirmed; ") == 1  # the table above the verdict
    outdir = str(improved.folder / "out")
    assert f"{told}, confirmed; " in CliRunner().invoke(cli.app, ["show", outdir]).output
    assert f": {told}, confirmed on " in (improved.files / "trace.md").read_text(encoding="utf-8")


def test_without_a_terminal_every_evaluation_is_one_plain_line(improved: Run) -> None:
    lines = improved.done.stderr.splitlines()
    events = (improved.files / "events.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [event for event in map(json.loads, events) if event["event"] == "step"]
    assert steps
    assert sum(line.startswith("[") for line in lines) == len(steps)
    assert "\x1b" not in improved.done.stderr + improved.done.stdout
    assert "planner: rules (--no-llm)" in lines


def test_the_best_link_leads_to_the_winner(improved: Run) -> None:
    winner = improved.summary()["variant_id"]
    assert (improved.files / "best").readlink() == Path("variants") / winner
    control = json.loads((improved.files / "best" / "control.json").read_text(encoding="utf-8"))
    assert control["parameters"] == {"REPEAT": 1}
    assert improved.summary()["confirmation"]["accepted"]


def test_a_finished_search_is_reported_again_and_not_repeated(improved: Run) -> None:
    before = (improved.files / "events.jsonl").read_text(encoding="utf-8")
    again = optimize(improved.folder, "--resume")
    assert again.returncode == 0
    assert "finished earlier" in again.stderr
    assert improved.summary()["variant_id"] in again.stdout
    assert (improved.files / "events.jsonl").read_text(encoding="utf-8") == before


def test_a_new_budget_lets_a_search_that_spent_its_old_one_go_on(
    fruitless: Run, tmp_path: Path
) -> None:
    shutil.copytree(fruitless.folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    more = optimize(tmp_path, "--budget-builds", "2", "--resume")
    assert "[2/2]" in more.stderr
    with Store.open(tmp_path / "out" / STATE_FILE) as store:
        assert store.count("searches") == 1


def test_a_new_search_does_not_pay_for_what_is_known(improved: Run, tmp_path: Path) -> None:
    shutil.copytree(improved.folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    again = optimize(tmp_path, "--budget-builds", "1")
    assert again.returncode == 0
    assert "(known from an earlier run)" in again.stderr
    with Store.open(tmp_path / "out" / STATE_FILE) as store:
        assert len(searches(store, improved.summary()["kernel_id"])) == 2
        assert len(store.items("evaluations", improved.summary()["variant_id"])) == 1


def test_show_lists_kernels_and_prints_a_variant(improved: Run) -> None:
    outdir, winner = str(improved.folder / "out"), improved.summary()["variant_id"]
    assert winner in CliRunner().invoke(cli.app, ["show", outdir]).output
    assert "baseline" in CliRunner().invoke(cli.app, ["show", outdir, "twice"]).output
    shown = CliRunner().invoke(cli.app, ["show", outdir, winner[:8]]).output
    assert "volatile float value" in shown
    assert '"ending": "faster"' in shown
    assert "works_in_a_fresh_process" in shown and "is_faster_again" in shown
    assert "blocks_ms" not in shown and "share_of_allowed_error" not in shown


def test_a_narrow_terminal_breaks_no_handle_into_two_lines(improved: Run) -> None:
    printed = StringIO()
    with Store.open(improved.folder / "out" / STATE_FILE) as store:
        (kernel,) = kernel_records(store)
        Console(file=printed, width=60).print(kernel_table([(kernel, None)]))
    assert kernel.incumbent in printed.getvalue() and kernel.kernel_id in printed.getvalue()


def test_nothing_gained_ends_with_status_2_and_the_best_is_the_baseline(fruitless: Run) -> None:
    assert fruitless.done.returncode == 2, fruitless.done.stderr
    assert "nothing is faster than the baseline" in fruitless.done.stdout
    assert fruitless.summary()["is_baseline"]
    assert (fruitless.files / "best" / "kernel.cpp").read_text(encoding="utf-8") == SOURCE


def test_a_baseline_that_does_not_build_ends_with_status_1_and_no_traceback(tmp_path: Path) -> None:
    broken = spec([1])
    broken["kernel"]["source_code"] = SOURCE.replace("int n)", "int n")
    (tmp_path / "spec.json").write_text(json.dumps(broken), encoding="utf-8")
    done = optimize(tmp_path)
    assert done.returncode == 1
    assert "build_failed" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_outdir_that_can_be_no_folder_is_told_without_a_traceback(tmp_path: Path) -> None:
    write_spec(tmp_path, [1])
    taken = tmp_path / "taken"
    taken.write_text("a file", encoding="utf-8")
    done = optimize(tmp_path, "--outdir", str(taken))
    assert done.returncode == 1
    assert "can be no folder for the state: File exists" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_disk_that_is_full_ends_with_status_1_and_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "the disk is full" in (told := capsys.readouterr().err) and "--resume" in told


@dataclass(frozen=True)
class Interrupted:
    run: Run
    children_left: list[int]


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    """A search that SIGTERM met right after its first evaluation."""
    folder = tmp_path_factory.mktemp("interrupted with space")
    write_spec(folder, [64, 1])
    command = [*COMMAND, *words_of(folder, "--budget-builds", "2")]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        seen = list(_until(run.stderr, "[1/"))
        children = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(signal.SIGTERM)
        output, errors = run.communicate()
    # what dies with the process that ended is told of its end, and takes a moment
    left = [c.pid for c in psutil.wait_procs(children, timeout=5)[1] if _runs(c)]
    done = subprocess.CompletedProcess(command, run.returncode, output, "".join(seen) + errors)
    return Interrupted(Run(folder, done), left)


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _until(lines: Iterator[str], start: str) -> Iterator[str]:
    for line in lines:
        yield line
        if line.startswith(start):
            return


def test_sigterm_ends_with_143_and_leaves_no_process_behind(interrupted: Interrupted) -> None:
    assert interrupted.run.done.returncode == 143
    assert not interrupted.children_left
    assert "Traceback" not in interrupted.run.done.stderr


def test_a_stopped_search_says_how_to_go_on_and_does_go_on(interrupted: Interrupted) -> None:
    run = interrupted.run
    line = run.done.stderr.strip().splitlines()[-1].removeprefix("go on with: ")
    program, *arguments = shlex.split(line)
    assert program == "kernelwright"
    resumed = typed(*arguments)
    assert resumed.returncode in (IMPROVED, NOTHING_GAINED), resumed.stderr
    assert "resumed" in resumed.stderr
    steps = [
        event["step"]
        for event in map(json.loads, (run.files / "events.jsonl").read_text().splitlines())
        if event["event"] == "step"
    ]
    assert steps == list(range(1, len(steps) + 1))


def test_a_failed_spec_outweighs_a_gain_and_no_gain_is_no_failure() -> None:
    failed = Failed(Path("spec.json"), SpecError("no"))
    assert exit_status([failed]) == FAILED
    assert exit_status([]) == NOTHING_GAINED
    assert IMPROVED == 0


def test_specs_are_found_beneath_a_folder_without_our_own_files(tmp_path: Path) -> None:
    for name in ("b/spec.json", "a.json", "out/kernels/x/spec.json", ".hidden/spec.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(spec([1])), encoding="utf-8")
    (tmp_path / "package.json").write_text('{"kernel": 1}', encoding="utf-8")
    (tmp_path / "broken.json").write_text('{"kernel": {}, "io": {},', encoding="utf-8")
    found = find_specs(tmp_path, tmp_path / "out")
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names == ["a.json", "broken.json", "b/spec.json"]


def test_a_folder_without_specs_is_told_in_plain_words(tmp_path: Path) -> None:
    done = typed("optimize", "--input", str(tmp_path), "--outdir", str(tmp_path / "out"))
    assert done.returncode == 1
    assert f"error: no spec in {tmp_path}" in done.stderr


def test_spec_check_names_every_field_at_fault(tmp_path: Path) -> None:
    wrong = spec([1])
    wrong["io"]["arguments"][0]["dtype"] = "float33"
    wrong["workloads"][0]["symbls"] = wrong["workloads"][0].pop("symbols")
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(wrong), encoding="utf-8")
    done = typed("spec", "--check", str(path))
    assert done.returncode == 1
    assert "io.arguments.0.dtype" in done.stderr
    assert "did you mean `symbols`?" in done.stderr
    assert "Traceback" not in done.stderr


def test_spec_check_refuses_a_gpu_that_nobody_knows(tmp_path: Path) -> None:
    wanted = json.loads((EXAMPLES / "cuda_scale" / "spec.json").read_text(encoding="utf-8"))
    wanted["device_profile"] = {"gpu_name": "RTX 9999"}
    for name in (wanted["kernel"]["source_path"], wanted["reference"]):
        shutil.copy(EXAMPLES / "cuda_scale" / name, tmp_path)
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(wanted), encoding="utf-8")
    done = typed("spec", "--check", str(path))
    assert done.returncode == 1 and "no GPU `RTX 9999` is known" in done.stderr


def test_spec_check_accepts_a_good_one_and_the_schema_names_its_fields(tmp_path: Path) -> None:
    path = write_spec(tmp_path, [1])
    checked = CliRunner().invoke(cli.app, ["spec", "--check", str(path)])
    assert checked.exit_code == 0
    assert "workloads small, unseen" in checked.output
    schema = json.loads(CliRunner().invoke(cli.app, ["spec", "--schema"]).output)
    assert set(spec([1])) <= set(schema["properties"])


def test_doctor_finds_the_compiler_that_these_tests_use() -> None:
    found = CliRunner().invoke(cli.app, ["doctor"])
    assert found.exit_code == 0
    assert "host C++ kernels: work" in found.output


def test_doctor_says_what_to_install_where_there_is_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = CliRunner().invoke(cli.app, ["doctor"])
    assert found.exit_code == 1
    assert "apt-get install g++" in found.output


def test_settings_are_read_before_anything_is_opened(tmp_path: Path) -> None:
    write_spec(tmp_path, [64, 1])
    done = optimize(tmp_path, "--set", "polcy=beam")
    assert done.returncode == FAILED
    assert "polcy: unknown field; did you mean `policy`?" in done.stderr
    assert not (tmp_path / "out" / "kernels").exists()


def test_a_signal_while_an_event_is_shown_ends_the_run_before_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two events the run waits in its generator, with files still to be written."""
    write_spec(tmp_path, [64, 1])

    def stop(self: PlainLines, event: Event) -> None:
        if isinstance(event, StepReport):
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(PlainLines, "show", stop)
    wanted = Headless(
        tmp_path / "spec.json", tmp_path / "out", (tmp_path,), Settings(), resume=False
    )
    assert run(wanted) == 128 + signal.SIGTERM
    assert (tmp_path / "out/kernels/twice/search_state.json").exists()
