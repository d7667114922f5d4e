"""What it means when ncu ended without a report: from its end and its words to an error; pure."""

from __future__ import annotations

from ..errors import CountersMissing, ProfileFailed
from ..watched.ended import Ended
from .messages import ProfileAnswer
from .permission import HOW, WHY

NOTHING = "No kernels were profiled"
FORBIDDEN = "ERR_NVGPUCTRPERM"
TAKEN = "driver resource was unavailable"
ERROR = "==ERROR=="
FILTERS = (
    "look whether filters (--kernel-name, --launch-skip, --profile-from-start) leave any launch "
    "over, and whether the program reaches its kernel"
)


def nothing_profiled(where: str) -> ProfileFailed:
    """The error for a report or a run without a single launch."""
    return ProfileFailed(
        f"{where}: no kernel was profiled",
        valid="a run in which at least one launch is profiled",
        next_step=FILTERS,
    )


def failure(ended: Ended, answer: ProfileAnswer | None) -> ProfileFailed:
    """Why there is no report, the likeliest cause first."""
    if FORBIDDEN in ended.log:
        return CountersMissing(WHY, next_step=HOW)
    if ended.timed_out:
        return ProfileFailed(
            f"ncu was {ended.words}",
            next_step="profile a smaller workload, or without `full`: each launch is replayed once "
            "for every group of counters",
        )
    if answer is not None and answer.fault:
        return ProfileFailed(
            f"the variant does not run under ncu: {answer.fault}",
            next_step="compile_variant and time_variant say whether it runs at all",
        )
    if TAKEN in ended.log:
        return CountersMissing(
            "the GPU's counters are in use by somebody else",
            next_step="stop the other profiler (DCGM: `dcgmi profiling --pause`), and ask again",
        )
    if NOTHING in ended.log:
        return nothing_profiled("ncu")
    return ProfileFailed(
        f"ncu left no report: {_said(ended)}", next_step="run `kernelwright doctor`"
    )


def _said(ended: Ended) -> str:
    lines = [line.strip() for line in ended.log.splitlines() if line.strip()]
    told = [line.removeprefix(ERROR).strip() for line in lines if line.startswith(ERROR)]
    return f"{ended.words}" + (f", {(told or lines)[-1][:300]}" if lines else "")
