"""Which reader says what the sources of a language declare: entries, and what one of them takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..c_source.functions import CppFunction, cpp_functions, functions_named, inner_names
from ..languages import KernelType, Language, Syntax, language_of
from .cpp_inference import Surroundings, cpp_kernel
from .signature import SourceKernel
from .template_instances import instance_of
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


def inner_entries(source: str, kind: KernelType) -> tuple[str, ...]:
    """The names of functions that an entry calls and that can be named as one all the same."""
    language = language_of(kind)
    return inner_names(source, cuda=language.on_gpu) if language.syntax == "c" else ()


def source_kernel(known: Surroundings, name: str, kind: KernelType) -> SourceKernel | None:
    """What the source says of an entry; None where it has none of that name, or is not read."""
    language = language_of(kind)
    reader = READERS.get(language.syntax)
    return None if reader is None else reader.kernel(known, name, language)


def _cpp_entries(source: str, language: Language) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.name for f in cpp_functions(source, cuda=language.on_gpu)))


def _cpp_kernel(known: Surroundings, name: str, language: Language) -> SourceKernel | None:
    cuda = language.on_gpu
    function = _function(known.source, name, cuda=cuda)
    if function is None:
        return None
    instance = instance_of(known.source, function, known.entry) if cuda else None
    plain = None if instance is None else _function(instance.source, name, cuda=cuda)
    if instance is None or plain is None:
        return cpp_kernel(function, cuda=cuda, known=known)
    found = cpp_kernel(plain, cuda=cuda, known=replace(known, source=instance.source))
    return replace(found, launch={"entry": instance.name, **(found.launch or {})})


def _function(source: str, name: str, *, cuda: bool) -> CppFunction | None:
    """The first of that name."""
    return next(iter(functions_named(source, name, cuda=cuda)), None)


READERS: Mapping[Syntax, Reader] = {
    "c": Reader(_cpp_entries, _cpp_kernel),
    "python": Reader(
        lambda source, _: triton_entries(source),
        lambda known, name, _: triton_kernel(known.source, name),
    ),
}
