"""How far a kernel is from what the machine allows, in words for whoever plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..runners.errors import KernelwrightError

if TYPE_CHECKING:
    from ..runners.limits import Peaks
    from .records import KernelRecord
    from .workbench import Workbench

PEAKS = "peaks/host"
"""The key in the store's table `meta` of the peaks that were measured last."""


def host_peaks(bench: Workbench) -> Peaks:
    """This machine's peaks, measured once a state folder (2 s). Raises ToolchainMissing,
    ProcessLost."""
    from ..runners.limits import Peaks, measure_host

    known = bench.store.get_record("meta", PEAKS, Peaks)
    if known is not None:
        return known
    found = measure_host(bench.outdir / "modules")
    with bench.store.transaction() as writer:
        writer.put_record("meta", PEAKS, found)
    return found


def headroom(bench: Workbench, kernel: KernelRecord, ms: Mapping[str, float]) -> str:
    """One line a visible workload: what bounds it and how far the floor is; why not, if unknown.

    Measures the machine's peaks where nobody did yet.
    """
    try:
        peaks = host_peaks(bench)
    except KernelwrightError as error:
        return f"unknown: {error.message}"
    return describe(kernel, peaks, ms)


def known_headroom(bench: Workbench, kernel: KernelRecord, ms: Mapping[str, float]) -> str | None:
    """As `headroom`, None where the machine's peaks were not measured yet."""
    from ..runners.limits import Peaks

    peaks = bench.store.get_record("meta", PEAKS, Peaks)
    return None if peaks is None else describe(kernel, peaks, ms)


def describe(kernel: KernelRecord, peaks: Peaks, ms: Mapping[str, float]) -> str:
    """One line a workload that has a time."""
    from ..analysis.roofline import summary

    return "\n".join(each.describe() for each in summary(kernel.loaded.spec, peaks, ms))
