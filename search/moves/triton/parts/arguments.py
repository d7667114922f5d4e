"""What a kernel's parameters are in the contract, through the launch in the source or the spec."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from .....runners.specs.io_contract import Argument
from ...shared.base import State
from .kernels import Kernel, Launch, launch_of


@dataclass(frozen=True)
class Arguments:
    """Parameters of one kernel of a state."""

    state: State
    kernel: Kernel

    @cached_property
    def launch(self) -> Launch | None:
        """Its launch in the source; None: the spec launches it, or it cannot be read."""
        found = launch_of(self.state, self.kernel)
        return found if isinstance(found, Launch) else None

    @property
    def by_spec(self) -> bool:
        """Whether the spec launches it: parameters have the names of the contract."""
        return self.state.spec.kernel.launch is not None

    def given(self, parameter: str) -> ast.expr | None:
        """The launch's expression for a parameter."""
        return None if self.launch is None else self.launch.bound(self.kernel).get(parameter)

    def in_contract(self, parameter: str) -> Argument | None:
        """The argument of the contract that a parameter is, as far as names tell."""
        name = parameter
        if not self.by_spec:
            given = self.given(parameter)
            if not isinstance(given, ast.Name):
                return None
            name = given.id
        return next((a for a in self.state.spec.io.arguments if a.name == name), None)

    def tunable(self, parameter: str) -> str | None:
        """The declared parameter of the spec that a constexpr has its value from."""
        if self.by_spec:
            return parameter if parameter in self.state.spec.parameters else None
        given = self.given(parameter)
        known = isinstance(given, ast.Name) and given.id in self.state.spec.parameters
        return given.id if known and isinstance(given, ast.Name) else None

    def literal(self, parameter: str) -> ast.Constant | None:
        """The literal in the source that a constexpr has its value from."""
        node = self.given(parameter)
        if isinstance(node, ast.Name):
            node = self._value_of(node.id)
        if node is None and self.launch is not None:
            node = self._default(self.kernel.function, parameter)
        return node if isinstance(node, ast.Constant) and type(node.value) is int else None

    def _value_of(self, name: str) -> ast.expr | None:
        """What the launching function or the module calls so."""
        assert self.launch is not None
        own = self._default(self.launch.function, name)
        if own is not None:
            return own
        found = [
            node.value
            for scope in (self.launch.function, self.kernel.source.tree)
            for node in scope.body
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == name
        ]
        return found[0] if len(found) == 1 else None

    def _default(self, function: ast.FunctionDef, name: str) -> ast.expr | None:
        arguments = [*function.args.posonlyargs, *function.args.args]
        pairs = zip(reversed(arguments), reversed(function.args.defaults), strict=False)
        return next((d for a, d in pairs if a.arg == name), None)

    def sizes(self, name: str) -> tuple[int, ...]:
        """The values that a size has in visible workloads, where it is called as its symbol."""
        visible = [w for w in self.state.spec.workloads if not w.held_out]
        return tuple(w.symbols[name] for w in visible if name in w.symbols)

    def symbol(self, parameter: str) -> tuple[int, int, str] | None:
        """Least and largest value of a size, and the symbol that it is by its name.

        None: it has no symbol's name, neither here nor where it is given.
        """
        given = self.given(parameter)
        names = [given.id] if isinstance(given, ast.Name) else []
        for name in (*names, parameter):
            if name in self.state.spec.symbols:
                domain, listed = self.state.spec.symbols[name], self.listed(name)
                if domain is None:
                    return min(listed), max(listed), name
                return domain.min, domain.max, name
        return None

    def listed(self, name: str) -> tuple[int, ...]:
        """The values that a symbol has in workloads, held-out ones too."""
        return tuple(w.symbols[name] for w in self.state.spec.workloads)
