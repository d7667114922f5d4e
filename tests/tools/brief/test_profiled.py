"""The brief of a GPU variant with a kept profile, on a machine with or without a GPU."""

from __future__ import annotations

import shutil

import pytest
from profiles import keep_profile, launch, run

from kernelwright.analysis.spans import lines_of
from kernelwright.evaluation.evidence.kernel_code import code_of_variant
from kernelwright.runners.profiling.model import Instruction
from kernelwright.runners.profiling.wanted import SAMPLES, STALL
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.brief.assemble import brief_of
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel

needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")


@needs_cuda
def test_a_profile_is_told_with_the_lines_that_it_blames_and_their_machine_code(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_kernel(bench, OpenKernelArguments(spec_path="cuda_scale/spec.json"))
    kernel = bench.evaluator.kernel(opened.kernel_id)
    (code,) = code_of_variant(bench, kernel.baseline, None, None)
    source = kernel.loaded.source.splitlines()
    (line,) = (n for n, text in enumerate(source, 1) if "x[i] " in text)
    at = next(e.offset for e in code.sass if line in lines_of(e.place, "scale.cu"))
    waits = {SAMPLES: 30.0, STALL + "long_scoreboard": 20.0}
    counted = (
        Instruction(offset=at, counters=waits),
        Instruction(offset=code.sass[-1].offset, counters={SAMPLES: 10.0}),
    )
    profile = run(launch({}, kernel="scale", instructions=counted))
    keep_profile(bench, kernel.baseline, profile, monkeypatch)

    brief = brief_of(bench, kernel.baseline)
    sections = {each.name: each.text for each in brief.sections}
    assert sections["bound"].startswith("From the profile, workload ")
    first = sections["lines"].splitlines()[0]
    assert first.startswith(f"line {line}, 75% of the samples, waits for long_scoreboard 20: `")
    assert f"sass {at:#06x}: " in sections["lines"] and "30 samples" in sections["lines"]
    assert "`scale`: " in sections["regions"] and "global load" in sections["regions"]
    assert "- poor-coalescing: " in sections["skills"]
    assert list(brief.ledger)[:4] == ["instructions", "contract", "skills", "baseline"]
