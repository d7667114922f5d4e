"""Instructions of a host by which code asks the system, the clock or the processor itself.

Compilers emit none of them for a kernel's own sums, so nearly all code is dismissed by a search for
their bytes. Where those occur, the section is decoded from every place that something leads to
(`SharedObject`): the same bytes are often a constant. Of aarch64 an instruction is one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from .elf import Section
from .shared_object import SharedObject

if TYPE_CHECKING:
    from iced_x86 import Instruction

MOST_DECODED = 4 << 20
"""bytes of code: some two seconds"""
_BYTES = re.compile(
    rb"\x0f(?:[\x03\x05\x31\x33\x34\xa2]|\x01[\xc1\xd9\xf9\xfb\xfd]|\xae[\xf0-\xf7]|\xc7[\xf0-\xff])|\xcd\x80"
)
"""what the names below look like, with whatever prefix; too much of it rather than too little"""
X86_64 = frozenset(
    "CPUID INT LSL MWAITX RDPID RDPMC RDPRU RDRAND RDSEED RDTSC RDTSCP SYSCALL SYSENTER "
    "TPAUSE UMWAIT VMCALL VMMCALL".split()
)
"""as iced-x86 names them"""
AARCH64: Mapping[str, tuple[int, int]] = {
    "SVC": (0xFFE0001F, 0xD4000001),
    "HVC": (0xFFE0001F, 0xD4000002),
    "SMC": (0xFFE0001F, 0xD4000003),
    "CNTPCT_EL0": (0xFFFFFFE0, 0xD53BE020),
    "CNTVCT_EL0": (0xFFFFFFE0, 0xD53BE040),
    "CNTPCTSS_EL0": (0xFFFFFFE0, 0xD53BE0A0),
    "CNTVCTSS_EL0": (0xFFFFFFE0, 0xD53BE0C0),
    "PMCCNTR_EL0": (0xFFFFFFE0, 0xD53B9D00),
    "WFET": (0xFFFFFFE0, 0xD5031000),
    "WFIT": (0xFFFFFFE0, 0xD5031020),
}
"""mask and bits of the word (Arm Architecture Reference Manual, C6.2 and D24): calls to who rules
above, moves from a counter that user code may be allowed to read, and waits until it is so far"""
NOT_READ = "machine code"
"""the name where there is too much of it, or it is of a machine that is not known here"""


@dataclass(frozen=True, slots=True)
class Rare:
    """An instruction by its name in small letters, and the function that it stands in."""

    name: str
    function: str


def rare_instructions(
    code: SharedObject, reached: Iterable[Instruction] | None = None
) -> tuple[Rare, ...]:
    """Those of a shared object, each once a function; `NOT_READ` where it was not read.

    `reached`: the instructions that count; None: all that anything leads to.
    """
    match code.machine:
        case "x86_64":
            found = _of_x86_64(code, reached)
        case "aarch64":
            found = _of_aarch64(code)
        case _:
            return (Rare(NOT_READ, ""),)
    return tuple(dict.fromkeys(found))


def _of_aarch64(code: SharedObject) -> Iterator[Rare]:
    for section in code.code:
        words = np.frombuffer(section.content[: section.size & ~3], dtype="<u4")
        for name, (mask, bits) in AARCH64.items():
            for at in np.flatnonzero((words & mask) == bits):
                yield Rare(name.lower(), code.function_at(section.address + 4 * int(at)))


def may_be_rare(code: SharedObject) -> bool:
    """Whether bytes look like one of these instructions: seldom, and then it has to be decoded."""
    return any(_BYTES.search(section.content) for section in code.code)


def too_large(code: SharedObject) -> bool:
    """Whether there is too much code to decode."""
    return sum(section.size for section in code.code) > MOST_DECODED


def _of_x86_64(code: SharedObject, reached: Iterable[Instruction] | None) -> Iterator[Rare]:
    if not may_be_rare(code):
        return
    if too_large(code):
        yield Rare(NOT_READ, "")
        return
    names = _numbers()
    for instruction in _reached(code) if reached is None else reached:
        name = names.get(instruction.mnemonic)
        if name is not None:
            yield Rare(name, code.function_at(instruction.ip))


@cache
def _numbers() -> Mapping[int, str]:
    """Names by the decoder's numbers."""
    from iced_x86 import Mnemonic

    return {getattr(Mnemonic, name): name.lower() for name in X86_64}


def _reached(code: SharedObject) -> Iterator[Instruction]:
    """Every instruction that something leads to, once."""
    seen = set[int]()
    waiting = [section.address + at for section in code.code for at in code.starts(section)]
    while waiting:
        at = waiting.pop()
        section = _section_of(code, at)
        if section is None or at in seen:
            continue
        for instruction in _from(section, at):
            if instruction.ip in seen:
                break
            seen.add(instruction.ip)
            waiting += _led_to(instruction)
            yield instruction


def _section_of(code: SharedObject, address: int) -> Section | None:
    return next((s for s in code.code if 0 <= address - s.address < s.size), None)


def _from(section: Section, address: int) -> Iterator[Instruction]:
    """One after the other, to the end of the section: behind a jump something may begin, too."""
    from iced_x86 import Decoder

    yield from Decoder(64, section.content[address - section.address :], ip=address)


def _led_to(instruction: Instruction) -> Iterator[int]:
    """Where a branch or call goes, and what address is worked out from its own."""
    from iced_x86 import OpKind

    if instruction.op0_kind == OpKind.NEAR_BRANCH64:
        yield instruction.near_branch_target
    if instruction.is_ip_rel_memory_operand:
        yield instruction.ip_rel_memory_address
