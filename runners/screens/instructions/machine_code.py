"""The screen of machine code: what a kernel will really execute, whatever its source says.

Of a GPU it is read from the cubin alone (symbols, variables, instruction words), with lines of
source from the PTX where the build kept it; of a host, `host_code.py`. It takes a millisecond or
two. It blocks what has no honest use in a kernel (the time of day, copies that nothing waits for);
what machine code cannot be run with at all (device-side launches, managed memory) is refused by
`cubin_check.py`, and soft evidence only asks for the fuller gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...machine_code.cubin import CubinInfo, read_cubin
from ...machine_code.elf import read_sections
from ...model import GateResult
from ...plans.plan import Artifact, Module
from ...specs.io_contract import Contract
from ..findings import Finding, ScreenTier, screened
from ..ptx import ptx_findings
from ..unread import unread_buffers
from .host_code import host_code_findings
from .sass import sass_findings

GATE = "machine_code_screen"
REFUSAL = "a kernel computes, whatever the time is, and has done so when it ends"
HOST_REFUSAL = "a kernel computes and does nothing else"
CALLED: Mapping[str, tuple[ScreenTier, str]] = {
    "vprintf": ("probe", "prints"),
    "malloc": ("probe", "allocates on the device's heap"),
    "free": ("probe", "gives memory back to the device's heap"),
    "__assertfail": ("note", "may stop everything on the GPU"),
}
"""functions of the driver that code may call"""
ZEROED = ".nv.global"
OF_THE_TOOLS = ("$", "__cuda", "__unnamed", "assert", "printfFormat")
"""how names of variables begin that compilers make: texts, tables, none of which begins as zeros"""


@dataclass(frozen=True, slots=True)
class MachineCode:
    """One cubin, the kernels of it that a plan launches, and its PTX; empty: not kept."""

    cubin: bytes
    launched: frozenset[str]
    ptx: str = ""


def machine_code_screen(
    codes: Sequence[MachineCode],
    contract: Contract | None = None,
    source: str = "",
    unread: Sequence[Finding] = (),
) -> GateResult:
    """The gate: failed for the first blocking finding, else passed, or a note of all findings, each
    with its tier; `unread`: those of its plans.

    `source` is the name of the file whose lines are told. Raises SpecError for a damaged cubin.
    """
    found = [each for code in codes for each in findings(code, contract, source)]
    allowed = () if contract is None else contract.allow
    return screened(GATE, [*unread, *found], REFUSAL, allowed)


def screen_artifact(
    artifact: Artifact,
    path: Callable[[Module], Path],
    contract: Contract | None = None,
    source: str = "",
) -> GateResult:
    """The gate over what an artifact's plans launch; `path` says where a module lies.

    Skipped where nothing can be read. Raises SpecError for damaged machine code.
    """
    hosts = [path(module).read_bytes() for module in artifact.modules if module.kind == "so"]
    if hosts:
        entries = {kernel.entry for plan in artifact.plans.values() for kernel in plan.kernels}
        found = [each for image in hosts for each in host_code_findings(image, entries)]
        return screened(GATE, found, HOST_REFUSAL, () if contract is None else contract.allow)
    launched = dict[str, set[str]]()
    for plan in artifact.plans.values():
        for kernel in plan.kernels:
            launched.setdefault(kernel.sha256, set()).add(kernel.entry)
    listings = {m.of: m for m in artifact.modules if m.kind == "ptx"}
    codes = [
        MachineCode(
            path(module).read_bytes(),
            frozenset(launched.get(module.sha256, ())),
            _text(listings.get(module.sha256), path),
        )
        for module in artifact.modules
        if module.kind == "cubin"
    ]
    if not codes:
        return GateResult(gate=GATE, outcome="skipped", message="it has no machine code")
    texts = {of: _text(listing, path) for of, listing in listings.items() if of is not None}
    unread = unread_buffers(artifact.plans.values(), texts, contract)
    return machine_code_screen(codes, contract, source, unread)


def findings(code: MachineCode, contract: Contract | None, source: str = "") -> list[Finding]:
    """All that is suspicious in one cubin; raises SpecError for what is none."""
    info = read_cubin(code.cubin)
    found = [*_symbols(info), *_variables(info)]
    found += sass_findings(read_sections(code.cubin), info, code.launched, contract)
    found += ptx_findings(code.ptx, code.launched, contract, source)
    return found


def _symbols(info: CubinInfo) -> Iterator[Finding]:
    for name in info.unresolved:
        tier, reason = CALLED.get(name, ("probe", "is defined nowhere"))
        yield Finding(tier, 0, name, reason)


def _variables(info: CubinInfo) -> Iterator[Finding]:
    """Tables of constants have contents from the start, so what begins as zeros is the suspect."""
    for name, variable in info.globals.items():
        zeroed = variable.section == ZEROED
        if variable.writable and (zeroed or not name.startswith(OF_THE_TOOLS)):
            tier: ScreenTier = "probe" if zeroed else "note"
            reason = f"keeps {variable.size} bytes from one launch to the next"
            yield Finding(tier, 0, name, reason)


def _text(module: Module | None, path: Callable[[Module], Path]) -> str:
    return "" if module is None else path(module).read_text(encoding="utf-8", errors="replace")
