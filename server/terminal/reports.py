"""What an outdir holds as grids: kernels, variants, and two outdirs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...runners.wording import speedup_text
from ...search.outdir.comparison import Compared
from ...search.outdir.report import KernelReport, OutdirReport, VariantReport
from .grid import Grid, times_text

KERNELS = (
    "kernel",
    "baseline",
    "best",
    "speedup (95 %)",
    "on held-out shapes",
    "confirmed",
    "changed",
)
VARIANTS = ("variant", "verdict", "speedup (95 %)", "confirmed", "times", "changed", "method")
COMPARED = ("kernel", "before", "after", "after over before", "verdict")


def markdown(report: OutdirReport) -> str:
    """The kernels, then the variants of each, as a page in Markdown."""
    parts = [kernels_grid(report.kernels).markdown()]
    parts += [f"## {k.name}\n\n{variants_grid(k.variants).markdown()}" for k in report.kernels]
    return "\n".join(parts)


def kernels_grid(kernels: Iterable[KernelReport]) -> Grid:
    """A kernel a row: baseline, best, and what is known of that."""
    return Grid(KERNELS, tuple(map(_kernel, kernels)))


def variants_grid(variants: Sequence[VariantReport]) -> Grid:
    """A variant a row."""
    return Grid(VARIANTS, tuple(map(_variant, variants)))


def compared_grid(found: Iterable[Compared]) -> Grid:
    """A kernel of two outdirs a row."""
    return Grid(COMPARED, tuple(map(_compared, found)))


def _kernel(kernel: KernelReport) -> tuple[str, ...]:
    best = kernel.best
    return (
        kernel.name,
        times_text(best.beside_ms or kernel.baseline_ms),
        "the baseline" if best.is_baseline else times_text(best.ms),
        "" if best.is_baseline else speedup_text(best.speedup, best.interval),
        speedup_text(best.held_out_speedup, best.held_out_interval),
        _confirmed(best),
        best.changed,
    )


def _variant(variant: VariantReport) -> tuple[str, ...]:
    return (
        variant.variant_id + " *" * (variant.is_best and not variant.is_baseline),
        "baseline" if variant.is_baseline else variant.ending or "not evaluated",
        speedup_text(variant.speedup, variant.interval),
        _confirmed(variant),
        times_text(variant.ms),
        variant.changed,
        "" if variant.is_baseline else variant.method,
    )


def _compared(found: Compared) -> tuple[str, ...]:
    return (
        found.name,
        _best(found.before),
        _best(found.after),
        speedup_text(found.ratio, found.interval),
        found.change.value,
    )


def _best(kernel: KernelReport | None) -> str:
    if kernel is None:
        return ""
    best = kernel.best
    told = "the baseline" if best.is_baseline else speedup_text(best.speedup, best.interval)
    return f"{told}; {times_text(best.ms)}"


def _confirmed(variant: VariantReport) -> str:
    return {True: "yes", False: "no", None: ""}[variant.confirmed]
