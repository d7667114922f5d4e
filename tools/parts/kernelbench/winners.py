"""The best variant of a cut kernel, with all that compiling and launching it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....analysis.modules.lowering.rows import ROWS, FirstRows
from ....evaluation.evidence.kernel_code import built_artifact
from ....search.outdir.report import kernel_report
from ....store.variants import variant_record
from ..build_line import flags_for
from .model_new import Launch, Winner
from .specs import WORKLOAD, CutSpec

if TYPE_CHECKING:
    from ....search.session.workbench import Workbench
    from ....store.records import KernelRecord


def winner_of(bench: Workbench, kernel: KernelRecord, made: CutSpec) -> tuple[Winner, float]:
    """The kernel's best variant, and how many times as fast as the plain one it is.

    One that takes more than a launch, or whose rows cannot be made more, is not taken: its baseline
    stands for it then.
    """
    record = bench.evaluator.kernel(kernel.kernel_id)
    best = kernel_report(bench.store, record).best
    gain = best.speedup or 1.0
    found = _winner(bench, record, best.variant_id, made)
    if found is None:
        found, gain = _winner(bench, record, record.baseline, made), 1.0
    if found is None:
        raise ValueError(f"the baseline of {made.written.entry} is no single launch of its rows")
    return found, gain


def _winner(
    bench: Workbench, kernel: KernelRecord, variant_id: str, made: CutSpec
) -> Winner | None:
    variant, loaded = variant_record(bench.store, variant_id).variant, kernel.loaded
    flags = flags_for(loaded, variant, variant.source, variant.parameters)
    launch = None
    if loaded.spec.kernel.language.on_gpu:
        plan = built_artifact(bench, variant_id).plans[WORKLOAD]
        if len(plan.steps) != 1 or len(plan.launches) != 1 or len(plan.kernels) != 1:
            return None
        (call,), (one,) = plan.launches, plan.kernels
        if one.cluster is not None or one.cooperative:
            return None
        launch = (call.grid, one.block, one.shared)
    if made.rows is not None:
        if f"-D{ROWS}={made.rows.some}" not in flags:
            return None  # its bound is written out: it is a kernel of those rows alone
        flags, launch = _of_all_rows(made.rows, flags, launch)
    entry = made.written.entry
    return Winner(entry, variant.source, flags, made.written.reads, launch)


def _of_all_rows(
    rows: FirstRows, flags: tuple[str, ...], launch: Launch | None
) -> tuple[tuple[str, ...], Launch | None]:
    """Flags and launch for all rows in place of some: the bound is a macro, and blocks are as many
    more as rows are (too many return at the bound; that none is missing, the trials show)."""
    some, every = f"-D{ROWS}={rows.some}", f"-D{ROWS}={rows.all}"
    flags = tuple(every if flag == some else flag for flag in flags)
    if launch is None:
        return flags, None
    (x, y, z), block, shared = launch
    return flags, ((-(-x * rows.all // rows.some), y, z), block, shared)
