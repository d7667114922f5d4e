"""What the screens of every language, and that of machine code, hand over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..model import GateResult
from ..specs.io_contract import Allowed

ScreenTier = Literal["block", "probe", "note"]
"""`block` refuses a kernel. `probe` is soft evidence: it costs the kernel the fuller gates before
it is measured, and an honest one passes them. `note` is recorded and costs nothing."""
TIERS: tuple[ScreenTier, ...] = ("block", "probe", "note")
OTHERWISE = "where one honestly needs it, `allow` in the spec's io names it with the reason"
MAX_FINDINGS = 40
MAX_TOLD = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A name that is suspicious where it stands: where, and why. `line` 0: not known."""

    tier: ScreenTier
    line: int
    name: str
    reason: str
    place: str = ""
    """the kernel, where it is machine code"""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else ""
        where = ", ".join(filter(None, [self.place, where]))
        return f"{where}: `{self.name}` {self.reason}" if where else f"`{self.name}` {self.reason}"

    def evidence(self) -> dict[str, Any]:
        """As a gate's result keeps it."""
        told = {"tier": self.tier, "line": self.line, "name": self.name, "reason": self.reason}
        return told | ({"place": self.place} if self.place else {})


def screened(
    gate: str, found: Sequence[Finding], refusal: str, allowed: Sequence[Allowed] = ()
) -> GateResult:
    """The gate's result: failed for the first finding that blocks, else a note of the others.

    `refusal` says after a blocking finding what would have been right. `allowed`: what the contract
    allows all the same. All findings (the worst first, at most MAX_FINDINGS) are its evidence.
    """
    told = (_with_leave(each, allowed) for each in found)
    ordered = sorted(dict.fromkeys(told), key=lambda each: TIERS.index(each.tier))
    evidence = {"findings": [each.evidence() for each in ordered[:MAX_FINDINGS]]}
    if not ordered:
        return GateResult(gate=gate, outcome="passed")
    if ordered[0].tier == "block":
        message = f"{ordered[0]}; {refusal} ({OTHERWISE})"
        return GateResult(gate=gate, outcome="failed", message=message, evidence=evidence)
    message = "; ".join(map(str, ordered[:MAX_TOLD]))
    return GateResult(gate=gate, outcome="note", message=message, evidence=evidence)


def _with_leave(found: Finding, allowed: Sequence[Allowed]) -> Finding:
    """A finding that blocks, as a probe where the contract allows it."""
    leave = next((each for each in allowed if each.covers(found.name)), None)
    if leave is None or found.tier != "block":
        return found
    return replace(found, tier="probe", reason=f"{found.reason} (allowed: {leave.reason})")


def wants_probes(gates: Sequence[GateResult], baseline: Sequence[GateResult] = ()) -> bool:
    """Whether a screen among these gates found something that the fuller gates should look at.

    What the same screen found in the baseline as well is no suspicion: nobody would be measured
    quickly where the kernel itself uses, say, approximations.
    """
    return bool(_probed(gates) - _probed(baseline))


def _probed(gates: Sequence[GateResult]) -> set[tuple[str, str]]:
    """Screens and names of their findings of that tier."""
    return {
        (gate.gate, str(finding.get("name")))
        for gate in gates
        for finding in gate.evidence.get("findings", ())
        if finding.get("tier") == "probe"
    }
