"""Profiles made by hand, and reports that NVIDIA's module would not find a launch in."""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.runners.profiling.model import (
    Advice,
    Instruction,
    KernelProfile,
    LaunchShape,
    Metric,
    Profile,
)


def launch(
    metrics: Mapping[str, float | str],
    *,
    kernel: str = "k",
    opcodes: Mapping[str, float] | None = None,
    advice: tuple[Advice, ...] = (),
    instructions: tuple[Instruction, ...] = (),
) -> KernelProfile:
    """One launch with these metrics; `opcodes`: warp instructions executed of each."""
    made = {
        name: Metric(value=value if isinstance(value, str) else float(value))
        for name, value in metrics.items()
    }
    if opcodes is not None:
        made["sass__inst_executed_per_opcode"] = Metric(
            value=float(sum(opcodes.values())), instances=dict(opcodes)
        )
    return KernelProfile(
        kernel=kernel,
        name=kernel,
        shape=LaunchShape(grid=(1024, 1, 1), block=(256, 1, 1)),
        device="NVIDIA H100 80GB HBM3",
        capability=90,
        metrics=made,
        advice=advice,
        instructions=instructions,
    )


def run(*launches: KernelProfile) -> Profile:
    """A profile of these launches."""
    return Profile(launches=launches, written_by="2025.3.1", read_by="a test")


def report_file(version: str = "2025.3.1", payload: bytes = b"") -> bytes:
    """A whole file of the form of a report, without launches, "written by" this version."""
    said = f"\x12{version}.0 (build 1) (public-release)".encode()
    header = b"\x1a" + bytes([len(said)]) + said + b"\x28" + bytes([len(payload)])
    return b"NVR\0" + _sized(b"\x08\x07") + _sized(header) + payload


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content
