"""What is suspicious in machine code of a GPU, read from its instruction words without a tool.

An instruction is 128 bits since sm_70: its number in the lowest 9, the form of its operands in the
next three. Numbers and fields are as nvdisasm 12.8 prints what ptxas 13.0 writes for sm_80, sm_90a,
sm_100a and sm_120a (`tests/golden/sass_words.json`). What is not in the table is not seen here:
rows over PTX know more (`ptx.py`), but a listing can leave something out; this cannot.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...machine_code.cubin import CubinInfo
from ...machine_code.elf import Section
from ...specs.io_contract import Contract
from ..findings import Finding, ScreenTier
from ..precision import Precision, precision_tier
from ..ptx import COUNTS, NARROW, ROUNDS, TELLS_APART, TF32
from . import launch_constants
from .asked_once import asked_once_findings
from .bulk_stores import bulk_store_findings
from .flow import Word
from .launch_constants import honest_beside, launch_constant

WORDS = struct.Struct("<QQ")
HOPPER = 90
REGISTER_FORM = 1  # bits 9 to 11 of an instruction whose operand is a register
S2R, CS2R, S2UR = 0x119, 0x005, 0x1C3
TEXT = ".text."


@dataclass(frozen=True, slots=True)
class Sign:
    """What an instruction says."""

    name: str
    tier: ScreenTier
    reason: str
    precision: Precision | None = None
    """the contract decides about the tier"""
    rounding: bool = False
    """only where the contract is deterministic"""

    def tier_under(self, contract: Contract | None) -> ScreenTier | None:
        """The tier of a finding; None: it says nothing under this contract."""
        if self.rounding and (contract is None or not contract.deterministic):
            return None
        return self.tier if self.precision is None else precision_tier(self.precision, contract)


def _clock(name: str) -> Sign:
    return Sign(name, "probe", "reads a clock")


TIME_OF_DAY = Sign("globaltimer", "block", "reads the time of day")
"""in nanoseconds, of all GPUs alike: all that a kernel of some microseconds can do with it is to
behave otherwise at another time. Sources and PTX that name it are only probed: it may be dead."""
_PLACE = "looks at where it runs"
SPECIAL_REGISTERS: Mapping[int, Sign] = {
    0x02: Sign("SR_VIRTCFG", "probe", _PLACE),
    0x03: Sign("SR_VIRTID", "probe", _PLACE),
    0x43: Sign("SR_VIRTUALSMID", "probe", _PLACE),
    0x50: _clock("SR_CLOCKLO"),
    0x51: _clock("SR_CLOCKHI"),
    0x52: TIME_OF_DAY,
    0x53: TIME_OF_DAY,
    **{n: Sign("SR_PM", "block", COUNTS) for n in range(0x64, 0x73)},
}
"""by the number that S2R and its kin read: bits 72 to 79"""
OF_A_LAUNCH: Mapping[str, Sign] = {
    **{name: Sign(name, "block", TELLS_APART) for name in ("%gridid", "%current_graph_exec")},
    launch_constants.INDEXED: Sign(
        launch_constants.INDEXED,
        "block",
        "reads parameters by an index: beside them lies what tells one launch from another",
    ),
    launch_constants.ADDRESS: Sign(
        launch_constants.ADDRESS,
        "block",
        "asks where its parameters lie, and each launch has its own place: none is a tensor map",
    ),
}
"""by what `launch_constant` says"""
_HMMA = {
    0: Sign("HMMA", "note", NARROW, "16 bit"),
    1: Sign("HMMA.BF16", "note", NARROW, "16 bit"),
    2: Sign("HMMA.TF32", "note", TF32, "tf32"),
}
_F2FP = {
    0: Sign("F2FP.F16", "note", NARROW, "16 bit"),
    1: Sign("F2FP.BF16", "note", NARROW, "16 bit"),
}
_F2FP_8 = Sign("F2FP.FP8", "note", NARROW, "8 bit")
_QGMMA = Sign("QGMMA", "note", NARROW, "8 bit")
_DISCARD = Sign("CCTL.RML2", "probe", "throws away what a cache holds")
_TRAP = Sign("BPT.TRAP", "note", "may stop everything on the GPU")
_SLEEP = Sign("NANOSLEEP", "note", "waits")
_POINTER = Sign("CALL", "note", "calls through a pointer")
_ADDS = Sign("REDG.ADD.F", "note", ROUNDS, rounding=True)
_RETURNS = Sign("ATOMG.ADD.F", "note", ROUNDS, rounding=True)

Decode = Callable[[int, int, int], Sign | None]
"""From the low word, the high word and the compute capability."""


def _special(_low: int, high: int, _capability: int) -> Sign | None:
    return SPECIAL_REGISTERS.get(high >> 8 & 0xFF)


def _constant(low: int, _high: int, capability: int) -> Sign | None:
    return OF_A_LAUNCH.get(launch_constant(low, capability))


def _product(_low: int, high: int, _capability: int) -> Sign | None:
    return _HMMA.get(high >> 18 & 3)


def _group_product(_low: int, high: int, capability: int) -> Sign | None:
    return _HMMA.get(high >> 12 & 3) if capability == HOPPER else None


def _cache_control(_low: int, high: int, _capability: int) -> Sign | None:
    return _DISCARD if high >> 23 & 0xF == 0xB else None


def _call(low: int, _high: int, _capability: int) -> Sign | None:
    return _POINTER if low >> 9 & 7 == REGISTER_FORM else None


def _on_hopper(sign: Sign) -> Decode:
    return lambda _low, _high, capability: sign if capability == HOPPER else None


def _since_hopper(sign: Sign) -> Decode:
    return lambda _low, _high, capability: sign if capability >= HOPPER else None


def _always(sign: Sign) -> Decode:
    return lambda _low, _high, _capability: sign


DECODE: Mapping[int, Decode] = {
    S2R: _special,
    CS2R: _special,
    S2UR: _special,
    launch_constants.LDC: _constant,
    launch_constants.ULDC: _constant,
    launch_constants.ULDC_INDEXED: _constant,
    launch_constants.LDCU: _constant,
    0x03C: _product,
    0x03E: lambda _low, high, _capability: _F2FP.get(high >> 12 & 7, _F2FP_8),
    0x1F0: _group_product,
    0x1F3: _on_hopper(_QGMMA),
    0x144: _call,
    0x15C: _always(_TRAP),
    0x15D: _always(_SLEEP),
    0x18F: _cache_control,
    0x1A2: _since_hopper(_RETURNS),
    0x1A3: _since_hopper(_RETURNS),
    0x1A6: _since_hopper(_ADDS),
}
"""by the lowest 9 bits"""


def sass_findings(
    sections: Collection[Section],
    info: CubinInfo,
    launched: Collection[str],
    contract: Contract | None,
) -> Iterator[Finding]:
    """What the code of launched kernels, and of functions that they may call, does."""
    code, places = list[Word](), list[str]()
    spared = honest_beside({size for name in launched for _, size in _params(info, name)})
    for section in sections:
        name = section.name.removeprefix(TEXT)
        if name == section.name or (name in info.entries and name not in launched):
            continue
        words = _words(section.content)
        for sign, count in _signs(words, info.capability).items():
            tier = sign.tier_under(contract)
            if tier is not None and sign.name not in spared:
                often = f" ({count} times)" if count > 1 else ""
                yield Finding(tier, 0, sign.name, sign.reason + often, place=f"kernel `{name}`")
        code += words
        places += [f"kernel `{name}`"] * len(words)
    if info.capability >= HOPPER:
        for at, finding in (*bulk_store_findings(code), *asked_once_findings(code)):
            yield replace(finding, place=places[at])


def _params(info: CubinInfo, name: str) -> tuple[tuple[int, int], ...]:
    return info.entries[name].params if name in info.entries else ()


def _words(code: bytes) -> list[Word]:
    return list(WORDS.iter_unpack(code[: len(code) // WORDS.size * WORDS.size]))


def _signs(code: Sequence[Word], capability: int) -> Counter[Sign]:
    found = Counter[Sign]()
    for low, high in code:
        decode = DECODE.get(low & 0x1FF)
        sign = None if decode is None else decode(low, high, capability)
        if sign is not None:
            found[sign] += 1
    return found
