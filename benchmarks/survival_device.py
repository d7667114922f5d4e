"""Faults of CUDA kernels, and how much of the GPUs' memory is taken.

A fault's statement stands after `i`, the thread's index, is known; `changes` is its launch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from survival_sources import MEASURED, SourceFault

from kernelwright.runners.model import Ending

E = Ending
CRASH = (E.launch_failed,)
REFUSED = (E.rejected,)
LATE = "did not end within"
DOWN = """\
__device__ volatile int bottom;
__device__ __noinline__ int down(int depth) {
    volatile char room[1024];
    room[depth % 1024] = static_cast<char>(depth);
    return bottom ? depth : down(depth + 1) + room[0];
}
"""


def _launch(**changes: Any) -> dict[str, Any]:
    return {"plan": {"grid": ["cdiv(n, 256)"], "block": [256], **changes}}


def _with_scratch(nbytes: int) -> dict[str, Any]:
    """A plan with a buffer of that size, which its launch does not even use."""
    return {
        "plan": {
            "buffers": {"spare": {"nbytes": nbytes}},
            "steps": [{"launch": "lift", "grid": ["cdiv(n, 256)"], "block": [256]}],
        }
    }


DEVICE: tuple[SourceFault, ...] = (
    SourceFault("endless loop", "for (volatile int q = 0;;) q = 1;", (E.timed_out,), LATE),
    SourceFault(
        "waits for a flag that nobody sets",
        "while (*(volatile float*)y != 12345.0f) {}",
        (E.timed_out,),
        LATE,
    ),
    SourceFault(
        "illegal address", "if (i == 5) y[n * 100000000L] = 1.0f;", CRASH, "illegal address"
    ),
    SourceFault(
        "null pointer", "if (i == 5) *(volatile float*)8 = 1.0f;", CRASH, "illegal address"
    ),
    SourceFault(
        "misaligned address",
        "if (i == 5) *(volatile double*)((char*)y + 4) = 1.0;",
        CRASH,
        "misaligned address",
    ),
    SourceFault("trap", "if (i == 5) __trap();", CRASH, "launch failure|illegal instruction"),
    SourceFault("failed assert", "assert(i != 5);", CRASH, "assert", "#include <assert.h>\n"),
    SourceFault(
        "endless recursion",
        "if (i == 5) y[0] = down(n);",
        (E.launch_failed, E.timed_out),
        f"illegal address|stack|launch failure|{LATE}",
        DOWN,
    ),
    SourceFault(
        "a flood of printf",
        'for (int k = 0; k < 4; ++k) printf("thread %d says %d\\n", i, k);',
        (*MEASURED, E.timed_out),
        LATE,
        "#include <cstdio>\n",
        heavy=True,
    ),
    SourceFault(
        "all of the device's heap",
        "if (i < 4096) { char* p = (char*)malloc(1 << 20); if (p) *(volatile char*)p = 1; }",
        (*MEASURED, E.timed_out, E.unsafe, E.wrong),
        ".",
        heavy=True,
    ),
    SourceFault(
        "500 KB of local memory a thread",
        "volatile char big[500000]; big[i % 500000] = 1; if (big[n % 500000] == 7) y[0] = 7;",
        (E.rejected, E.build_failed, *MEASURED),  # 138 GB in all, which an H200 has
        "stack and local arrays|local|baseline",
    ),
    SourceFault(
        "a terabyte of scratch memory",
        "",
        REFUSED,
        "arrays and buffers take",
        changes=_with_scratch(1 << 40),
    ),
    SourceFault(
        "a megabyte of shared memory",
        "",
        REFUSED,
        "shared memory",
        changes=_launch(shared=1 << 20),
    ),
    SourceFault(
        "2048 threads a block", "", REFUSED, "block|threads", changes=_launch(block=[2048])
    ),
    SourceFault(
        "a grid that is too tall",
        "",
        REFUSED,
        "grid",
        changes=_launch(grid=["cdiv(n, 256)", 70000]),
    ),
    SourceFault("an empty grid", "", REFUSED, "grid", changes=_launch(grid=["n - n"])),
    SourceFault(
        "writes behind its output", "if (i == 0) y[n] = 1.0f;", (E.unsafe,), "behind the end"
    ),
    SourceFault("changes an input", "if (i == 0) ((float*)x)[3] = 0.0f;", (E.unsafe,), "changed x"),
    SourceFault("does not compile", "int m = = n;", (E.build_failed,), "expected"),
    SourceFault(
        "a header without end",
        "",
        (E.build_failed, E.timed_out),
        ".",
        '#include "/dev/zero"\n',
        heavy=True,
    ),
)


def used_bytes() -> int:
    """Memory that is taken on the GPUs that this process sees, whoever took it, as nvidia-smi
    tells it."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return 0
    asked = [tool, "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        asked.append(f"--id={visible}")
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return sum(int(line) for line in done.stdout.split()) << 20
