"""Which reader says what the sources of a language declare: entries, and what one of them takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..c_source.functions import cpp_functions
from ..languages import KernelType, Language, Syntax, language_of
from .cpp_inference import Surroundings, cpp_kernel
from .signature import SourceKernel
from .triton_inference import triton_entries, triton_kernel


@dataclass(frozen=True)
class Reader:
    """Reads the sources of all languages of one syntax."""

    entries: Callable[[str, Language], tuple[str, ...]]
    kernel: Callable[[Surroundings, str, Language], SourceKernel | None]


def is_read(kind: KernelType) -> bool:
    """Whether sources of this language say anything here."""
    return language_of(kind).syntax in READERS


def entries(source: str, kind: KernelType) -> tuple[str, ...]:
    """The names of the functions that could be the entry, in the order of the source.

    None in a language that nothing here reads.
    """
    language = language_of(kind)
    reader = READERS.get(language.syntax)
    return () if reader is None else reader.entries(source, language)


def source_kernel(known: Surroundings, name: str, kind: KernelType) -> SourceKernel | None:
    """What the source says of an entry; None where it has none of that name, or is not read."""
    language = language_of(kind)
    reader = READERS.get(language.syntax)
    return None if reader is None else reader.kernel(known, name, language)


def _cpp_entries(source: str, language: Language) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.name for f in cpp_functions(source, cuda=language.on_gpu)))


def _cpp_kernel(known: Surroundings, name: str, language: Language) -> SourceKernel | None:
    cuda = language.on_gpu
    functions = {f.name: f for f in reversed(cpp_functions(known.source, cuda=cuda))}
    return cpp_kernel(functions[name], cuda=cuda, known=known) if name in functions else None


READERS: Mapping[Syntax, Reader] = {
    "c": Reader(_cpp_entries, _cpp_kernel),
    "python": Reader(
        lambda source, _: triton_entries(source),
        lambda known, name, _: triton_kernel(known.source, name),
    ),
}
