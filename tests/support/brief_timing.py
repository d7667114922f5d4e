"""Host kernels timed briefly, where a test does not ask how surely times tell kernels apart.

A comparison as users have it goes on for further placements and warm caches once it is settled, and
each of its blocks has processes of its own: half of what an evaluation of a small kernel costs.
Here it ends once its blocks settle it, and few blocks settle that nothing sets sides apart, to a
resolution that tells the kernels of tests from each other: they differ by half or not at all. What
becomes of what was told is the same.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from kernelwright.evaluation.rig.open_kernel import TIMING
from kernelwright.runners.comparing.settling import NATIVE, Step

BRIEF = replace(
    NATIVE,
    resolution=0.05,
    widest=0.25,
    sample_s=0.001,
    rounds=2,
    steps=(Step(3, 1.0), Step(4, 0.3)),
    looks=(6, 8, 10, 12, 15, 18, 21, 25),
    min_blocks=4,
    placements=0,
    hot_times=False,
)
COMMAND = (sys.executable, "-P", __file__)
"""`kernelwright` in a process of its own that times briefly"""


if __name__ == "__main__":
    from kernelwright.server.cli import main

    TIMING["native"] = BRIEF
    main()
