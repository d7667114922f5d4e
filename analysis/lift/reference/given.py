"""What a written reference is given and returns: arguments of a contract as names of its text."""

from __future__ import annotations

import re
from functools import cached_property

from ....runners.dtypes import is_float
from ....runners.specs.io_contract import Argument
from ....runners.specs.spec import KernelSpec
from ..expressions import Unreadable

_WORD = re.compile(r"[A-Za-z_]\w*")
_FUNCTIONS = ("cdiv", "min", "max")


def own(name: str) -> str:
    """A name of the lift as one of the text, which none of the prelude's is."""
    return "v_" + re.sub(r"\W", "_", name)


class Given:
    """Reads arguments and sizes of a spec."""

    def __init__(self, spec: KernelSpec) -> None:
        self._spec = spec
        self.arrays = {a.name for a in spec.io.arguments if a.role != "scalar"}

    def beginning(self) -> list[str]:
        """Scalars, sizes, and arrays as flat ones; outputs begin with zeros. Raises Unreadable."""
        floats = [a for a in self._of("input", "inout") if is_float(a.dtype)]
        if not floats:
            raise Unreadable("no input of it is a float")
        short = next((a for a in floats if a.dtype != "float64"), floats[0])
        lines = [
            f'first = given["{short.name}"]',
            "floats = Floats(first, exact)",
            *(f"{own(name)} = {how}" for name, how in self.sizes.items()),
        ]
        for each in self._of("input", "inout"):
            kept = ".copy()" if each.role == "inout" else ""
            flat = f'given["{each.name}"].reshape(-1){kept}'
            shorter = is_float(each.dtype) and each.dtype != "float64"
            lines.append(f"{own(each.name)} = {f'floats.real({flat})' if shorter else flat}")
        for each in self._of("output"):
            kind = "float64" if is_float(each.dtype) else "int64"
            size = " * ".join(f"({size})" for size in self._sizes_of(each)) or "1"
            lines.append(f'{own(each.name)} = np.zeros({size}, "{kind}", like=first)')
        return lines

    def end(self) -> str:
        """The outputs in their shapes. Raises Unreadable."""
        made = [
            f"{own(each.name)}.reshape(({''.join(f'{size}, ' for size in self._sizes_of(each))}))"
            for each in self._of("output", "inout")
        ]
        return f"return [{', '.join(made)}]"

    @cached_property
    def sizes(self) -> dict[str, str]:
        """How every scalar is got of what is given, and every symbol that is one or a size of an
        input. A float32 is the one that the kernel gets."""
        found = dict[str, str]()
        for each in self._of("scalar"):
            given = f'given["{each.name}"]'
            found[each.name] = f"float(np.float32({given}))" if each.dtype == "float32" else given
            if isinstance(each.value, str) and each.value in self._spec.symbols:
                found.setdefault(each.value, given)
        for each in self._of("input", "inout"):
            for axis, size in enumerate(each.shape):
                if size in self._spec.symbols:
                    found.setdefault(str(size), f'given["{each.name}"].shape[{axis}]')
        return found

    def _of(self, *roles: str) -> list[Argument]:
        return [a for a in self._spec.io.arguments if a.role in roles]

    def _sizes_of(self, argument: Argument) -> list[str]:
        return [_WORD.sub(self._known, str(size)) for size in argument.shape]

    def _known(self, word: re.Match[str]) -> str:
        """A name of a size of the spec as one of the text. Raises Unreadable for a symbol that
        nothing which is given tells."""
        if word[0] in self.sizes:
            return own(word[0])
        if word[0] not in _FUNCTIONS:
            raise Unreadable(f"nothing that it is given tells {word[0]}")
        return word[0]
