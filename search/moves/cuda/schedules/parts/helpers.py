"""Device code that every schedule brings along: vectors of neighbouring elements."""

from __future__ import annotations

from dataclasses import dataclass

from ....shared.lifted.names import Names

_VECTOR = """\
// N neighbouring elements, moved as one: 16 bytes at a time at most
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) {name} {{
    T at[N];
}};"""


@dataclass(frozen=True)
class Vectors:
    """The type of vectors under a name of its own."""

    name: str

    @classmethod
    def named(cls, names: Names) -> Vectors:
        """Under a name that the source has not."""
        return cls(names.fresh("Lanes"))

    @property
    def text(self) -> str:
        """Its definition."""
        return _VECTOR.format(name=self.name)

    def type(self, element: str, count: str) -> str:
        """Of so many elements."""
        return f"{self.name}<{element}, {count}>"

    def load(self, element: str, count: str, address: str) -> str:
        """An expression: the vector at an address."""
        return f"*reinterpret_cast<const {self.type(element, count)}*>({address})"

    def store(self, element: str, count: str, address: str, value: str) -> str:
        """A statement: the vector goes to an address."""
        return f"*reinterpret_cast<{self.type(element, count)}*>({address}) = {value};"
