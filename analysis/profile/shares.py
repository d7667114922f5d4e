"""The launches of a run by their share of its time under the profiler."""

from __future__ import annotations

from ...runners.profiling.model import KernelProfile, Profile


def shares(profile: Profile) -> tuple[float, ...] | None:
    """Of each launch, adding up to 1; None where the duration of one is not known."""
    if len(profile.launches) == 1:
        return (1.0,)
    times = [launch.nanoseconds for launch in profile.launches]
    known = [time for time in times if time is not None]
    total = sum(known)
    return None if len(known) < len(times) or not total else tuple(t / total for t in known)


def longest(profile: Profile, kernel: str) -> KernelProfile | None:
    """The launch of a kernel that took most time; None where it was not launched."""
    launches = [launch for launch in profile.launches if launch.kernel == kernel]
    return max(launches, key=lambda launch: launch.nanoseconds or 0.0, default=None)


def weighted(profile: Profile, name: str) -> float | None:
    """The mean of a metric over the launches, by their shares; for percentages and ratios.

    None where it is missing for one of them, or the shares are not known.
    """
    parts = shares(profile)
    numbers = [launch.number(name) for launch in profile.launches]
    known = [number for number in numbers if number is not None]
    if parts is None or len(known) < len(numbers):
        return None
    return sum(part * number for part, number in zip(parts, known, strict=True))


def total(profile: Profile, name: str) -> float | None:
    """The sum of a metric over the launches; None where it is missing for one of them."""
    numbers = [launch.number(name) for launch in profile.launches]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
