"""One metric by its exact name, or those whose names hold some words."""

from __future__ import annotations

from difflib import get_close_matches

from ...runners.errors import KernelwrightError
from ...runners.profiling.model import KernelProfile, Metric

MAX_FOUND = 40


def metric(launch: KernelProfile, name: str) -> Metric:
    """The metric of exactly that name, with its instances where those are kept.

    Raises KernelwrightError for one that was not collected, naming those that are spelt alike.
    """
    if (found := launch.metrics.get(name)) is not None:
        return found
    alike = get_close_matches(name, launch.metrics, n=5, cutoff=0.6)
    raise KernelwrightError(
        f"`{name}` was not collected for `{launch.name}`",
        valid=", ".join(alike) or f"any of {len(launch.metrics)} names",
        next_step="search the names by words, or profile with `full`",
    )


def search(launch: KernelProfile, words: str, limit: int = MAX_FOUND) -> dict[str, Metric]:
    """Metrics whose names hold every one of the words, shortest names first."""
    parts = words.lower().split()
    names = [name for name in launch.metrics if all(part in name.lower() for part in parts)]
    names.sort(key=lambda name: (len(name), name))
    return {name: launch.metrics[name] for name in names[:limit]}
