"""How many programs a written kernel has, in the words of who is told: the kernel itself, a launch
in Python, a launch of the spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ......analysis.lift.expressions import Call, Expr, Name, Number, Sum
from ......analysis.lift.statements import Dim
from ....shared.lifted.c_expressions import Unwritable
from .plain import Plain
from .tile_text import PRODUCT


@dataclass(frozen=True)
class Tile:
    """A parallel dimension as programs see it: one place of it a program, or a block of places."""

    dim: Dim
    called: str
    block: str = ""
    """the constant that is its length; empty: one place"""
    axis: int | None = None


@dataclass(frozen=True)
class Words:
    """What sizes and constants, and a division that is rounded up, are called in some place."""

    named: Callable[[str], str]
    cdiv: str


IN_KERNEL = Words(lambda name: name, "tl.cdiv")


def of_launch(args: str) -> Words:
    """Of a function of Python that is given all that the kernel is, under this name."""
    return Words(lambda name: f'{args}["{name}"]', "triton.cdiv")


def of_spec(plain: Plain) -> Words:
    """Of the language of specs: what is no argument stands for itself."""

    def named(name: str) -> str:
        told = str(plain.sizes[name]) if name in plain.programs else name
        return told if told.isidentifier() else f"({told})"

    return Words(named, "cdiv")


def blocks_of(tiles: Sequence[Tile], plain: Plain, words: Words = IN_KERNEL) -> list[str]:
    """How many blocks of each there are. Raises Unwritable."""
    return [_blocks(each, plain, words) for each in tiles]


def _blocks(tile: Tile, plain: Plain, words: Words) -> str:
    extent = size_text(tile.dim.extent, plain, words)
    return f"{words.cdiv}({extent}, {words.named(tile.block)})" if tile.block else extent


def product_text(counts: Sequence[str]) -> str:
    """The number of all; 1 where nothing is counted."""
    return " * ".join(map(_factor, counts)) or "1"


def _factor(count: str) -> str:
    call = "cdiv(" in count.split(" ", 1)[0]
    whole = call or not any(f" {each} " in count for each in ("+", "-", "//"))
    return count if whole else f"({count})"


def size_text(expr: Expr, plain: Plain, words: Words = IN_KERNEL, least: int = 0) -> str:
    """An integer over what the kernel is given. Raises Unwritable."""
    match expr:
        case Number(value):
            return str(int(value))
        case Name(name) if name in plain.sizes:
            return words.named(name)
        case Sum(terms):
            found = list[str]()
            for factors, number in terms:
                parts = [size_text(each, plain, words, PRODUCT) for each in factors]
                if abs(number) != 1 or not parts:
                    parts.append(str(abs(number)))
                sign = "-" if number < 0 else "+"
                joined = " * ".join(parts)
                found += [sign, joined] if found else [f"-{joined}" if number < 0 else joined]
            text = " ".join(found)
            return f"({text})" if least and " " in text else text
        case Call("div", (left, right)):
            one, other = (size_text(e, plain, words, PRODUCT) for e in (left, right))
            return f"({one} // {other})" if least else f"{one} // {other}"
        case Call("max" | "min" as op, (left, right)):
            one, other = (size_text(e, plain, words) for e in (left, right))
            return f"{op}({one}, {other})"
        case _:
            raise Unwritable("a number of places that no launch can tell")
