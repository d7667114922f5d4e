"""Evaluations from end to end, with the real builder, executor, oracle and store."""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import lift
import psutil
import pytest
from tiers import cases

from kernelwright.evaluation.rig.open_kernel import OpenKernel
from kernelwright.evaluation.rig.rig import Rig
from kernelwright.runners.building.builder import Builder
from kernelwright.runners.errors import BaselineRefused, HandleUnknown, ProcessLost, ReferenceFailed
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Ending
from kernelwright.runners.toolchains import BuildRequest
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.evaluations import evaluation_id, next_number, put_evaluation

RUNNER = "kernelwright.runners.native.process"


ENDINGS = {
    "does not compile": ("int m = = n;", "", Ending.build_failed, "expected primary-expression"),
    "writes behind its output": ("y[n] = 1.0f;", "", Ending.unsafe, "behind the end of `y`"),
    "writes before its output": ("y[-1] = 1.0f;", "", Ending.unsafe, "before the start of `y`"),
    "changes an input": ("((float*)x)[3] = 0.0f;", "", Ending.unsafe, "changed x"),
    "writes far away": ("y[n * 50000L] = 1.0f;", "", Ending.launch_failed, "SIGSEGV"),
    "never returns": ("for (volatile int q = 0;;) q = 1;", "", Ending.timed_out, "did not return"),
    "traps": ("__builtin_trap();", "", Ending.launch_failed, "SIGILL"),
    "ends its process": (
        "exit(0);",
        "#include <cstdlib>\n",
        Ending.rejected,
        "`exit` ends the process",
    ),
    "reads a clock": (
        "auto t = std::chrono::steady_clock::now(); (void)t;",
        "#include <chrono>\n",
        Ending.rejected,
        "reads a clock",
    ),
    "returns at once": ("return;", "", Ending.wrong, "on the public seed"),
    "skips the last element": ("n = n - 1;", "", Ending.wrong, "y[19999]"),
}


@pytest.mark.parametrize("what", ENDINGS)
def test_a_kernel_that(what: str, bench: Workbench, kernel: LoadedKernel) -> None:
    line, above, ending, words = ENDINGS[what]
    found = bench.evaluator.evaluate(lift.variant(kernel, lift.with_line(line, above=above)))
    assert found.ending == ending
    assert words in found.message
    assert found.speedup is None
    assert not found.became_incumbent


def test_a_slightly_wrong_kernel_is_wrong_at_its_worst_index(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    source = lift.SOURCE.replace("+ 1.0f;", "+ 1.0f + (i == 4321 ? 0.01f : 0.0f);")
    found = bench.evaluator.evaluate(lift.variant(kernel, source))
    assert found.ending == Ending.wrong
    (failed,) = (g for g in found.gates if g.outcome == "failed")
    assert failed.gate == "is_right"
    assert failed.evidence["worst_index"] == [4321] or failed.evidence["worst_index"] == (4321,)


def test_an_entry_of_another_signature_is_told_which_one_is_wanted(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    source = lift.SOURCE.replace("int n)", "double* n)").replace("i < n", "i < *n")
    found = bench.evaluator.evaluate(lift.variant(kernel, source))
    assert found.ending == Ending.build_failed
    assert "wanted: void lift(const float* x, float* y, std::int32_t n)" in found.message
    assert "lift.cpp:5" in found.message, "the line of the user's own definition"
    assert "static_cast" not in found.message, "nothing of a file that the user never saw"


def test_a_kernel_that_assumes_more_alignment_than_promised_is_caught_on_the_odd_shape(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    line = "if (reinterpret_cast<std::uintptr_t>(x) % 64) y[0] = 0.0f, ++x;"
    source = lift.with_line(line, above="#include <cstdint>\n")
    found = bench.evaluator.evaluate(lift.variant(kernel, source))
    assert found.ending == Ending.wrong
    assert "`odd`" in found.message


def test_a_kernel_with_a_workload_called_odd_is_opened_and_met_by_an_odd_shape_of_its_own(
    bench: Workbench,
) -> None:
    sizes = {"main": 20000, "odd": 4111}
    workloads = [{"name": name, "symbols": {"n": n}} for name, n in sizes.items()]
    loaded = lift.load(bench.outdir.parent, workloads=workloads)
    bench.evaluator.open(loaded)
    line = "if (n != 20000 && n != 4111) ++x;"
    found = bench.evaluator.evaluate(lift.variant(loaded, lift.with_line(line)))
    assert found.ending == Ending.wrong
    assert "`odd_`" in found.message


def test_a_known_variant_is_not_evaluated_again(bench: Workbench, kernel: LoadedKernel) -> None:
    record = lift.variant(kernel, REPEAT=3)
    first = lift.verdict(bench.evaluator, record)
    assert bench.evaluator.evaluate(record) == first
    other_layout = lift.variant(kernel, "// the same\n\n" + lift.SOURCE, REPEAT=3)
    assert bench.evaluator.evaluate(other_layout) == first


def test_equal_machine_code_shares_its_measurement(bench: Workbench, kernel: LoadedKernel) -> None:
    first = lift.verdict(bench.evaluator, lift.variant(kernel, REPEAT=3))
    renamed = lift.SOURCE.replace("kept", "held")
    shared = bench.evaluator.evaluate(lift.variant(kernel, renamed, REPEAT=3))
    assert shared.variant_id != first.variant_id
    assert shared.same_code_as == first.variant_id
    assert (shared.ending, shared.speedup) == (first.ending, first.speedup)


def test_code_that_noise_kept_from_a_verdict_is_timed_again_when_asked_for_and_not_for_a_twin(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    first, renamed = lift.variant(kernel, REPEAT=5), lift.SOURCE.replace("kept", "held")
    twin = lift.variant(kernel, renamed, REPEAT=5)
    timed = lift.verdict(bench.evaluator, first)
    name = evaluation_id(timed.variant_id, next_number(bench.store, timed.variant_id))
    noise = {"evaluation_id": name, "ending": Ending.unstable}
    with bench.store.transaction() as writer:
        put_evaluation(writer, timed.model_copy(update=noise))
    shared, again = bench.evaluator.evaluate(twin), bench.evaluator.evaluate(twin)
    assert (shared.ending, shared.same_code_as) == (Ending.unstable, timed.variant_id)
    assert again.same_code_as is None and again.seconds["compare"] > 0


HIDDEN = "struct Calls { mutable int n = 0; }; static const Calls calls;"
"""state that the static screen takes for a constant, so that no fuller gates run before timing"""


def test_a_kernel_that_turns_wrong_once_it_is_timed_is_called_a_cheat(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    line = f"{HIDDEN} if (++calls.n > 3) {{ for (int i = 0; i < n; ++i) y[i] = 1; return; }}"
    found = bench.evaluator.evaluate(lift.variant(kernel, lift.with_line(line)))
    assert found.ending == Ending.cheated
    assert "while it was timed" in found.message


def test_a_failure_of_the_other_side_is_not_blamed_on_the_candidate(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    line = f"{HIDDEN} if (++calls.n > 3) {{ for (int i = 0; i < n; ++i) y[i] = 3; return; }}"
    cheat = lift.variant(kernel, lift.with_line(line))
    honest = lift.variant(kernel, REPEAT=3)
    for record in (cheat, honest):
        bench.evaluator.evaluate(record)
    with pytest.raises(ProcessLost, match=f"`{cheat.variant.variant_id}`, which"):
        bench.evaluator.compare(honest.variant.variant_id, [cheat.variant.variant_id])
    found = bench.evaluator.compare(cheat.variant.variant_id, [honest.variant.variant_id])
    assert found.comparison is None, "as the candidate it is the one that fails"


def test_remembering_results_by_content_does_not_pay(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    """A variant that traps when it meets values for the second time after its warm-up."""
    above = "#include <set>\n#include <utility>\n"
    line = (
        "struct Kept { mutable std::set<std::pair<float, float>> seen;"
        " std::pair<float, float> first; };"
        "static const Kept kept{{}, {x[0], x[1]}}; auto now = std::pair(x[0], x[1]);"
        "if (now != kept.first && !kept.seen.insert(now).second) __builtin_trap();"
    )
    found = bench.evaluator.evaluate(lift.variant(kernel, lift.slow_with_line(line, above=above)))
    assert found.ending.measured


SYSCALLS = {
    "open a file for writing": '2, (long)"/tmp/kernelwright-escape", 0102, 0600',
    "run a program": '59, (long)"/bin/true", 0, 0',
    "make a socket": "41, 2, 1, 0",
    "kill its processes": "62, -1, 9, 0",
    "fork": "57, 0, 0, 0",
    "set the clock": "227, 0, (long)y, 0",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="raw system call numbers of x86_64")
@cases(
    "what",
    SYSCALLS,
    why="further system calls: tests/runners/processes asks each of them of the sandbox itself",
)
def test_a_kernel_cannot(what: str, bench: Workbench, kernel: LoadedKernel) -> None:
    above = """\
#include <sys/mman.h>
#include <cstring>
static long call(long number, long a, long b, long c) {  // code that no screen can read
    unsigned char code[] = {0x5a, 0x50, 0x96};
    for (unsigned char& each : code) each ^= 0x55;
    void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 0;
    std::memcpy(at, code, sizeof code);
    long result = number;
    asm volatile("call *%4" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(at)
                 : "rcx", "r11", "memory");
    munmap(at, 4096);
    return result;
}
static bool heard() { return call(12, 0, 0, 0) > 0; }  // brk
"""
    line = f"if (!heard() || call({SYSCALLS[what]}) != -1) return;"
    found = bench.evaluator.evaluate(lift.variant(kernel, lift.slow_with_line(line, above=above)))
    assert found.ending.measured, f"the call went through: {found.message}"


def test_a_lost_runner_is_lost_and_the_next_evaluation_is_right(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    endless = lift.variant(kernel, lift.with_line("for (volatile long q = 1; q;) q = 2;"))
    done = threading.Event()

    def kill_the_runner_while_it_works() -> None:
        while not done.is_set():
            for child in psutil.Process().children():
                with suppress(psutil.Error):  # build children come and go
                    if RUNNER in child.cmdline() and any(
                        executor.status() == psutil.STATUS_RUNNING for executor in child.children()
                    ):
                        child.kill()
                        return

    killer = threading.Thread(target=kill_the_runner_while_it_works)
    killer.start()
    found = bench.evaluator.evaluate(endless)
    done.set()
    killer.join()
    assert found.ending == Ending.lost
    assert "runner was lost" in found.message
    assert bench.evaluator.evaluate(endless).ending == Ending.timed_out, "lost is not final"
    honest = lift.variant(kernel, lift.slow_with_line("n += 0;"))
    assert bench.evaluator.evaluate(honest).ending.measured, "the next one is right"


def test_a_runner_that_is_lost_after_the_last_block_takes_no_evaluation_along(
    bench: Workbench, kernel: LoadedKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    unload = Rig.unload

    def stop_the_runner_first(rig: Rig, opened: OpenKernel, variant_id: str) -> None:
        for child in psutil.Process().children():
            if RUNNER in child.cmdline():
                child.suspend()
        unload(rig, opened, variant_id)

    with monkeypatch.context() as patched:
        patched.setattr(Rig, "unload", stop_the_runner_first)
        found = bench.evaluator.evaluate(lift.variant(kernel, lift.slow_with_line("n += 1 - 1;")))
    assert found.ending.measured
    honest = lift.variant(kernel, lift.slow_with_line("n += 2 - 2;"))
    assert bench.evaluator.evaluate(honest).ending.measured, "the next one is right"


@pytest.mark.parametrize(
    ("reference", "error", "words"),
    [
        ("def reference(x, n):\n    return 2 * x\n", BaselineRefused, "`wrong`"),
        ("def reference(x, n):\n    return 1 / 0\n", ReferenceFailed, "line 2 of the reference"),
        ("def reference(x, n):\n    return x, x\n", ReferenceFailed, "returned 2 outputs"),
        ("def reference(x, n):\n    return x[1:]\n", ReferenceFailed, "shape (19999,)"),
        ("def reference(x):\n    return x\n", ReferenceFailed, "unexpected keyword argument 'n'"),
        ("def truth(x, n):\n    return x\n", ReferenceFailed, "no function `reference`"),
        ("def reference(x, n:\n", ReferenceFailed, "does not load"),
        (
            "import os\ndef reference(x, n):\n    os._exit(3)\n",
            ReferenceFailed,
            "ended its process: exit status 3",
        ),
        (
            "def reference(x, n):\n    open('/tmp/kernelwright-escape', 'w')\n",
            ReferenceFailed,
            "PermissionError",
        ),
    ],
)
def test_a_reference_that_does_not_hold_is_refused_and_nothing_is_kept(
    reference: str, error: type[Exception], words: str, bench: Workbench, kernel: LoadedKernel
) -> None:
    def kept() -> list[int]:
        return [bench.store.count(table) for table in ("kernels", "variants", "evaluations")]

    before = kept()
    loaded = lift.load(bench.outdir.parent, reference={"source_code": reference})
    with pytest.raises(error) as caught:
        bench.evaluator.open(loaded)
    assert words in str(caught.value)
    assert kept() == before


def test_after_a_reference_that_ended_its_process_a_right_one_opens_the_kernel(
    tmp_path: Path,
) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        ends = "import os\ndef reference(x, n):\n    os._exit(3)\n"
        with pytest.raises(ReferenceFailed):
            bench.evaluator.open(lift.load(tmp_path, reference={"source_code": ends}))
        good = lift.load(tmp_path)
        assert bench.evaluator.open(good).incumbent == good.baseline().variant_id


def test_a_kernel_is_attached_again_from_the_store_and_builds_are_taken_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(_: Builder, request: BuildRequest) -> NoReturn:
        pytest.fail(f"compiled, not taken from disk: {request.variant}")

    loaded, slow = lift.load(tmp_path), lift.slow_with_line("n += 0;")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        bench.evaluator.open(loaded)
        bench.evaluator.build(lift.variant(loaded, slow))
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        monkeypatch.setattr(Builder, "build", compiled)
        assert bench.evaluator.open(loaded).baseline == loaded.baseline().variant_id
        found = bench.evaluator.evaluate(lift.variant(loaded, slow))
        assert found.ending.measured


def test_an_unknown_variant_is_named_with_what_to_do(bench: Workbench) -> None:
    with pytest.raises(HandleUnknown):
        bench.evaluator.variant("v000000000000")


@pytest.mark.usefixtures("own_zygotes")
def test_closing_the_workbench_leaves_no_process(tmp_path: Path) -> None:
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        loaded = lift.load(tmp_path)
        bench.evaluator.open(loaded)
        during = {p.pid for p in psutil.Process().children(recursive=True)} - before
        assert len(during) >= 3, "zygote, oracle and runner"
    after = {p.pid for p in psutil.Process().children(recursive=True)}
    assert not during & after
    assert not (tmp_path / "out" / "scratch").exists()


def test_a_reference_that_fails_on_the_odd_shape_is_told_with_its_sizes(bench: Workbench) -> None:
    reference = "def reference(x, n):\n    x[14999]\n    return 2 * x + 1\n"
    loaded = lift.load(bench.outdir.parent, reference={"source_code": reference})
    with pytest.raises(ReferenceFailed) as raised:
        bench.evaluator.open(loaded)
    assert re.match(r"on `odd` \(n=\d+\): the reference raised", raised.value.message)
    assert "the domains of the symbols" in raised.value.next_step
