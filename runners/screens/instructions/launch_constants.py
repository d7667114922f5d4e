"""Reads of what the driver hands a launch beside its parameters, in the same bank of constants.

`%gridid` and `%current_graph_exec` are words of that bank, below the parameters. A listing names
them, and a listing can be another one than that of the machine code; `ld.param` with an index
reaches them without a name; and the bank's own address says where in memory the parameters of this
launch lie, and behind them those of others. Of parameters that are numbers and addresses no honest
kernel does either: an index leads into a structure, and addresses are taken of tensor maps.

Offsets are those that ptxas 13.0 writes for sm_90a, sm_100a and sm_120a. Before Hopper instructions
have constants as operands, which are not read here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

BANK, OFFSET, INDEX = 54, 38, 24
"""where the fields of LDC and ULDC begin: five bits, sixteen (bytes), eight"""
LDC, ULDC, ULDC_INDEXED, LDCU = 0x182, 0x0B9, 0x0BB, 0x1AC
"""by the lowest 9 bits"""
NO_INDEX = 0xFF
"""RZ and, in LDCU, URZ"""
WORD = 8
HOPPER = 90
INDEXED = "ld.param"
ADDRESS = "cvta.param"
LARGEST_NUMBER, TENSOR_MAP = 16, 128
"""bytes of a parameter"""


@dataclass(frozen=True, slots=True)
class _Bank:
    """Offsets of eight bytes each."""

    grid: int
    graph: int
    address: int


_HOPPER = _Bank(grid=0x30, graph=0x190, address=0x198)
_BLACKWELL = _Bank(grid=0x140, graph=0x2E8, address=0x348)
BANKS: Mapping[int, _Bank] = {90: _HOPPER, 100: _BLACKWELL, 103: _BLACKWELL, 120: _BLACKWELL}
"""by compute capability"""


def launch_constant(low: int, capability: int) -> str:
    """What an instruction reads of the driver's part of a launch: `%gridid`, `%current_graph_exec`,
    ADDRESS, INDEXED (any of it, on Hopper); empty: nothing. `low`: half of its 128 bits."""
    bank, number = BANKS.get(capability), low & 0x1FF
    if bank is None or number not in (LDC, ULDC, ULDC_INDEXED, LDCU) or low >> BANK & 0x1F:
        return ""
    if number == ULDC_INDEXED or (number == LDC and low >> INDEX & 0xFF != NO_INDEX):
        return INDEXED if capability == HOPPER else ""  # later ones read %envreg1 so
    if number == LDCU and low >> INDEX & 0xFF != NO_INDEX:
        return ""
    offset = low >> (OFFSET - (number == LDCU)) & 0xFFFF
    return next((name for name, at in _named(bank) if at <= offset < at + WORD), "")


def honest_beside(sizes: Collection[int]) -> frozenset[str]:
    """Which of these reads kernels honestly make whose parameters have these sizes in bytes."""
    large = {size for size in sizes if size > LARGEST_NUMBER}
    if large - {TENSOR_MAP}:
        return frozenset({INDEXED, ADDRESS})
    return frozenset({ADDRESS} if large else ())


def _named(bank: _Bank) -> tuple[tuple[str, int], ...]:
    named = (("%gridid", bank.grid), ("%current_graph_exec", bank.graph))
    return (*named, (ADDRESS, bank.address))
