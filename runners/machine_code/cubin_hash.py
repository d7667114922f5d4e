"""What decides the behaviour of an artifact for a GPU, as a hash.

Machine code, the resources it asks for, initial values of variables, and the plans count; names
of kernels and parameters, debug data, listings and notes do not, so that two sources that compile
to the same instructions get one hash.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SpecError
from ..model import content_hash
from ..plans.plan import LaunchPlan, SetSymbol, without_names
from .cubin import Symbol, read_cubin, read_symbols
from .elf import Section, read_sections

CODE = (".text", ".nv.constant", ".nv.global")
PARAMETER_BANK = ".nv.constant0"
"""filled by the launch: only its size says something, and the parameters say that already"""
NAMES = frozenset({"arg", "value"})
RELA, REL = struct.Struct("<QQq"), struct.Struct("<QQ")


def device_code_hash(plans: Mapping[str, LaunchPlan], images: Mapping[str, bytes]) -> str:
    """16 hexadecimal digits over the plans, with the machine code of each kernel in them.

    `images`: cubins by their sha256. Raises SpecError for one that is missing or damaged.
    """
    known: dict[tuple[str, str], str] = {}
    content = dict[str, Any]()
    for label, plan in plans.items():
        stripped = _unnamed(plan)
        modules = list(dict.fromkeys(kernel.sha256 for kernel in plan.kernels))
        for kernel, place in zip(plan.kernels, stripped["kernels"], strict=True):
            key = (kernel.sha256, kernel.entry)
            if key not in known:
                if kernel.sha256 not in images:
                    raise SpecError(f"`{kernel.id}` is in no module ({kernel.sha256[:12]})")
                known[key] = entry_hash(images[kernel.sha256], kernel.entry)
            place["entry"] = known[key]
            place["module"] = modules.index(kernel.sha256)  # its kernels share variables
        _place_symbols(plan, stripped, images)
        content[label] = stripped
    return content_hash(content, 16)


def _unnamed(plan: LaunchPlan) -> dict[str, Any]:
    """The plan without names of parameters, and with the places of its outputs."""
    content = without_names(plan)
    for step in content["steps"]:
        for param in step.get("params", ()):
            for name in NAMES & param.keys():
                del param[name]
    content["outputs"] = [[o.buffer, o.offset, o.strides] for o in plan.outputs]
    return content


def _place_symbols(plan: LaunchPlan, content: dict[str, Any], images: Mapping[str, bytes]) -> None:
    """Variables that steps set, by where they lie: what code reads is a place, not a name."""
    module_of = {kernel.id: kernel.sha256 for kernel in plan.kernels}
    steps = zip((*plan.setup, *plan.steps), (*content["setup"], *content["steps"]), strict=True)
    for step, place in steps:
        if isinstance(step, SetSymbol):
            place["symbol"] = _symbol_place(images[module_of[step.kernel]], step.symbol)


def _symbol_place(image: bytes, name: str) -> str:
    sections = read_sections(image)
    found = [s for s in read_symbols(sections) if s.name == name and 0 < s.section < len(sections)]
    if not found:
        raise SpecError(f"the machine code has no variable `{name}`")
    return f"{sections[found[0].section].name}+{found[0].value}"


def entry_hash(image: bytes, entry: str) -> str:
    """Hash of one kernel's machine code with the resources and variables of its module.

    Equal for a kernel of another name. Raises SpecError when there is no such kernel.
    """
    info = read_cubin(image)
    if entry not in info.entries:
        raise SpecError(f"the machine code has no kernel `{entry}`")
    sections = read_sections(image)
    own = _Names(entry, frozenset(info.entries) - {entry})
    symbols = read_symbols(sections)
    digest = hashlib.sha256(f"sm_{info.capability} {info.entries[entry]}\n".encode())
    for name, section in sorted((own.of(s.name), s) for s in sections if own.counts(s.name)):
        digest.update(f"{name} {section.size} ".encode())
        digest.update(section.content)
        for line in sorted(_relocations(section, sections, symbols, own)):
            digest.update(line.encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of sections as one kernel sees them: its own name is left out."""

    entry: str
    others: frozenset[str]

    def of(self, section: str) -> str:
        suffix = "." + self.entry
        return section.removesuffix(suffix) + ".*" if section.endswith(suffix) else section

    def counts(self, section: str) -> bool:
        of_another = any(section.endswith("." + other) for other in self.others)
        code = section.startswith(CODE) and not section.startswith(PARAMETER_BANK)
        return code and (not of_another or self.of(section) != section)


def _relocations(
    section: Section, sections: tuple[Section, ...], symbols: tuple[Symbol, ...], own: _Names
) -> Iterator[str]:
    """What the loader writes into a section, as text; kernels and variables by their places."""
    for table in sections:
        if table.name not in (f".rela{section.name}", f".rel{section.name}"):
            continue
        form = RELA if table.name.startswith(".rela") else REL
        for row in form.iter_unpack(table.content):
            offset, info, *addend = _integers(row)
            symbol = symbols[info >> 32]
            place = symbol.name
            if 0 < symbol.section < len(sections):
                place = f"{own.of(sections[symbol.section].name)}+{symbol.value}"
            yield f"{offset} {info & 0xFFFFFFFF} {addend} {place}\n"


def _integers(row: tuple[Any, ...]) -> tuple[int, ...]:
    return row
