"""What a cubin says of itself, read from the ELF file alone: kernels, limits, globals.

No tool and no driver is asked. The layout of `.nv.info` and the meaning of the symbol table
are as `cuobjdump -elf` prints them for cubins of ptxas 12.8 and 13.0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..errors import SpecError
from ..plans.plan import Dim3
from .elf import Section, read_sections

EM_CUDA, ET_EXEC = 190, 2
STT_OBJECT, STT_FUNC, STO_ENTRY, STO_MANAGED = 1, 2, 0x10, 0x04
INSTRUCTION_BYTES = 16
"""since sm_70"""
RESERVED_SHARED = 1024
"""bytes a block that the system keeps on sm_90 and later, counted in `.nv.shared.<entry>`"""
NOP = 0x918
LOCAL_ACCESSES = frozenset({0x983, 0x387, 0x987})
"""LDL and the two forms of STL: loads from and stores to local memory"""
REACHES_LOCAL = frozenset({0x183, 0x187, 0x180, 0x185, 0x18A})
"""LDL, STL, and LD, ST, ATOM, whose address may be one of local memory; by the lowest 9 bits"""
WIDTHS = (1, 1, 2, 2, 4, 8, 16, 16)
"""bytes of such an access, by the three bits that say so; as `nvdisasm` prints them, sm_75 on"""
WRITABLE = ".nv.global"
# attributes of .nv.info (EIATTR_*)
MAX_THREADS, REQNTID, FRAME_SIZE, MIN_STACK_SIZE = 0x05, 0x10, 0x11, 0x12
KPARAM_INFO, REGCOUNT, CTA_PER_CLUSTER, KPARAM_INFO_V2 = 0x17, 0x2F, 0x3D, 0x45
NUM_BARRIERS = 0x4C
OLD_BARRIERS = 20  # bits of sh_flags that held them before CUDA 13
LONG_FORMAT = 4
NEW_ABI = 8  # EI_ABIVERSION from CUDA 13 on: the SM moves within e_flags


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a cubin. Sizes in bytes."""

    params: tuple[tuple[int, int], ...]
    """(offset, size) of each parameter, in order"""
    registers: int
    """a thread"""
    static_shared: int
    """a block, without what the system reserves"""
    stack: int
    """a thread"""
    max_threads: int | None
    """a block, from `__launch_bounds__`; None: not limited"""
    exact_block: Dim3 | None
    """the only block it may be launched with"""
    cluster: Dim3 | None
    """the cluster it was compiled for"""
    barriers: int
    instructions: int
    """of its section, without the padding at the end"""


@dataclass(frozen=True, slots=True)
class Global:
    """A `__device__` or `__constant__` variable."""

    size: int
    section: str
    writable: bool
    """by kernels"""
    managed: bool


@dataclass(frozen=True, slots=True)
class CubinInfo:
    """What a cubin holds and what it lacks."""

    capability: int
    """90 for sm_90 and sm_90a"""
    linked: bool
    """ready to be loaded; False for what was compiled to be linked later (-rdc=true)"""
    entries: Mapping[str, Entry]
    globals: Mapping[str, Global]
    state_bytes: int
    """memory that kernels can write and that outlives a launch, named by a symbol or not"""
    unresolved: tuple[str, ...]
    """functions and variables that are called or used and not there"""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A row of the symbol table."""

    name: str
    kind: int
    other: int
    section: int
    value: int
    size: int


def read_cubin(image: bytes) -> CubinInfo:
    """Read a cubin. Raises SpecError when it is none, or is damaged."""
    try:
        return _read(image)
    except (ValueError, struct.error, LookupError, StopIteration) as error:
        raise SpecError(f"the machine code is no cubin: {error}") from error


def local_bytes(image: bytes) -> dict[str, int]:
    """Bytes a thread that a kernel's instructions store to and load from local memory, by kernel.

    The sum that `ptxas -v` calls spill stores and spill loads, where a kernel keeps no arrays in
    local memory (Triton's never do).
    """
    text = ".text."
    return {
        section.name.removeprefix(text): _local_bytes(section.content)
        for section in read_sections(image)
        if section.name.startswith(text)
    }


def reaches_local(image: bytes) -> bool:
    """Whether any instruction may read or write local memory, by its name or by an address."""
    code = (s.content for s in read_sections(image) if s.name.startswith(".text."))
    return any(low & 0x1FF in REACHES_LOCAL for each in code for low, _ in _words(each))


def capability(image: bytes) -> int:
    """90 for sm_90 and sm_90a. Raises ValueError for what is no machine code of a GPU."""
    (machine,) = struct.unpack_from("<H", image, 18)
    if machine != EM_CUDA:
        raise ValueError(f"it is for machine {machine}, not for an NVIDIA GPU")
    (flags,) = struct.unpack_from("<I", image, 0x30)
    return (flags >> 8 if is_new_abi(image) else flags) & 0xFF


def is_new_abi(image: bytes) -> bool:
    """Whether tools of CUDA 13 or later wrote it; those of CUDA 12 read it with less."""
    return len(image) > 8 and image[8] >= NEW_ABI


def read_symbols(sections: tuple[Section, ...]) -> tuple[Symbol, ...]:
    """The symbol table, in order: relocations and `.nv.info` count its rows."""
    table = next(s for s in sections if s.name == ".symtab")
    names = sections[table.link].content
    rows = struct.iter_unpack("<IBBHQQ", table.content)
    return tuple(
        Symbol(_text(names, name), info & 15, other, section, value, size)
        for name, info, other, section, value, size in rows
    )


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode("utf-8", "replace")


def _read(image: bytes) -> CubinInfo:
    sections = read_sections(image)
    generation = capability(image)
    symbols = read_symbols(sections)
    named = {s.name: s for s in sections}
    module = _module_attributes(named, symbols)
    (kind,) = struct.unpack_from("<H", image, 16)
    entries = {
        s.name: _entry(s.name, named, module.get(s.name, {}), generation)
        for s in symbols
        if s.kind == STT_FUNC and s.other & STO_ENTRY and s.section
    }
    return CubinInfo(
        capability=generation,
        linked=kind == ET_EXEC,
        entries=entries,
        globals={
            s.name: _global(s, sections[s.section].name)
            for s in symbols
            if s.kind == STT_OBJECT and 0 < s.section < len(sections)
        },
        state_bytes=sum(s.size for s in sections if s.name.startswith(WRITABLE)),
        unresolved=tuple(sorted({s.name for s in symbols if _is_missing(s)})),
    )


def _is_missing(symbol: Symbol) -> bool:
    """Named `.nv.` or `__U`: what the tools themselves leave open, and drivers fill in."""
    used = symbol.kind in (STT_FUNC, STT_OBJECT) and symbol.section == 0
    return used and bool(symbol.name) and not symbol.name.startswith((".nv.", "__U"))


def _global(symbol: Symbol, section: str) -> Global:
    return Global(
        size=symbol.size,
        section=section,
        writable=section.startswith(WRITABLE),
        managed=bool(symbol.other & STO_MANAGED),
    )


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(attribute, value) of a `.nv.info` section; short values are two bytes long."""
    at = 0
    while at + 4 <= len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, at)
        if form == LONG_FORMAT:
            if at + 4 + size > len(content):
                raise ValueError("an attribute ends after its section")
            yield attribute, content[at + 4 : at + 4 + size]
            at += 4 + size
        else:
            yield attribute, content[at + 2 : at + 4]
            at += 4


def _module_attributes(
    named: Mapping[str, Section], symbols: tuple[Symbol, ...]
) -> dict[str, dict[int, int]]:
    """Numbers by function and attribute, from the module's own `.nv.info`."""
    found: dict[str, dict[int, int]] = {}
    info = named.get(".nv.info")
    for attribute, value in _attributes(info.content if info else b""):
        if attribute in (REGCOUNT, FRAME_SIZE, MIN_STACK_SIZE):
            symbol, number = struct.unpack("<II", value)
            found.setdefault(symbols[symbol].name, {})[attribute] = number
    return found


def _entry(
    name: str, named: Mapping[str, Section], numbers: Mapping[int, int], generation: int
) -> Entry:
    params: list[tuple[int, int, int]] = []
    dims: dict[int, Dim3] = {}
    barriers = 0
    info = named.get(f".nv.info.{name}")
    for attribute, value in _attributes(info.content if info else b""):
        if attribute == KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            params.append((ordinal, offset, packed >> 18))
        elif attribute == KPARAM_INFO_V2:
            _, ordinal, offset, size = struct.unpack("<IHHI", value)
            params.append((ordinal, offset, size & 0xFFFF))
        elif attribute in (MAX_THREADS, REQNTID, CTA_PER_CLUSTER):
            x, y, z = struct.unpack("<III", value)
            dims[attribute] = (x, y, z)
        elif attribute == NUM_BARRIERS:
            barriers = value[0]
    limit = dims.get(MAX_THREADS)
    shared = named.get(f".nv.shared.{name}")
    reserved = RESERVED_SHARED if generation >= 90 else 0
    code = named[f".text.{name}"]
    return Entry(
        params=tuple((offset, size) for _, offset, size in sorted(params)),
        registers=numbers.get(REGCOUNT, 0),
        static_shared=max(0, shared.size - reserved) if shared else 0,
        stack=max(numbers.get(FRAME_SIZE, 0), numbers.get(MIN_STACK_SIZE, 0)),
        max_threads=limit[0] * limit[1] * limit[2] if limit else None,
        exact_block=dims.get(REQNTID),
        cluster=dims.get(CTA_PER_CLUSTER),
        barriers=max(barriers, code.flags >> OLD_BARRIERS & 0x7F),
        instructions=_instructions(code.content),
    )


def _instructions(code: bytes) -> int:
    count = len(code) // INSTRUCTION_BYTES
    while count and _opcode(code, count - 1) == NOP:
        count -= 1
    return count


def _opcode(code: bytes, index: int) -> int:
    (word,) = struct.unpack_from("<H", code, index * INSTRUCTION_BYTES)
    return word & 0xFFF


def _local_bytes(code: bytes) -> int:
    words = _words(code)
    return sum(WIDTHS[high >> 9 & 7] for low, high in words if low & 0xFFF in LOCAL_ACCESSES)


def _words(code: bytes) -> Iterator[tuple[int, int]]:
    """The low and the high half of each instruction."""
    whole = len(code) // INSTRUCTION_BYTES * INSTRUCTION_BYTES
    return struct.iter_unpack("<QQ", memoryview(code)[:whole])
