"""An operator of PyTorch that runs a winner where it was proved, and itself everywhere else."""

from __future__ import annotations

import atexit
import importlib
import json
import os
import platform
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .calls import TENSOR, key_and_tensors
from .host_code import HostCode, processor
from .machine_code import MachineCode
from .reading import Case, Key, Refused, Winner, read_winner

USES = "KERNELWRIGHT_DEPLOY_USES"
"""a folder: at its end each process tells there how often its winners ran"""
_installed = dict[str, "tuple[Operator, Any]"]()
_counted = dict[str, "Operator"]()
Run = Callable[[list[Any]], Any]


class Operator:
    """A winner with the operator that it stands for. `uses`: calls that the winner ran."""

    def __init__(self, winner: Winner) -> None:
        self.winner, self.uses = winner, 0
        self._torch = importlib.import_module("torch")
        self._kind = self._torch.Tensor
        self._original = _original(self._torch, winner)
        self._takes_tensors = _takes_tensors(self._torch, winner)
        self._code = _code(self._torch, winner)
        self._runs: dict[Key, Run] = {c.key: self._run(c) for c in winner.cases}
        self._first = _first_shapes(winner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The winner's result, or the operator's own for a call that it was not proved for."""
        return self.call(None, *args, **kwargs)

    def call(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, as the dispatcher calls it."""
        if not self._is_other(args):
            key, tensors = key_and_tensors(args, kwargs, self._kind)
            run = self._runs.get(key)
            if run is not None:
                result = run(tensors)
                if result is not None:
                    self.uses += 1
                    return result
        if keyset is None:
            keyset = self._torch._C.DispatchKeySet(_dispatch_key(self._torch, self.winner))
        for n in self._takes_tensors:
            if n < len(args) and not isinstance(args[n], self._kind):
                args = (*args[:n], self._as_tensor(args[n], args), *args[n + 1 :])
        return self._original.call_boxed(keyset, *args, **kwargs)

    def _is_other(self, args: Any) -> bool:
        """Whether the shape of its first argument says already that a call is none of ours."""
        first: Any = args[0] if args else None
        return isinstance(first, self._kind) and first.shape not in self._first

    def _as_tensor(self, value: Any, args: Any) -> Any:
        """A number where the operator takes a tensor (`x + 1`): the dispatcher hands it to Python
        as one. Its type has no say then: that of the first tensor is its own, where it holds it."""
        if not isinstance(value, bool | int | float):
            return value
        first: Any = next((each for each in args if isinstance(each, self._kind)), None)
        if first is None:
            return self._torch.tensor(value)
        whole = not first.is_floating_point() and not first.is_complex()
        wider = whole and (isinstance(value, float) or first.dtype == self._torch.bool)
        return self._torch.tensor(value, dtype=None if wider else first.dtype)

    def _run(self, case: Case) -> Run:
        """What makes the results of a case; it gives None where a tensor lies askew."""
        prepared = self._code.prepare(case)
        inputs = [(b.number, b.align) for b in case.buffers.values() if b.kind == "input"]
        aligned, alone = [each for each in inputs if each[1] > 1], len(case.made) == 1

        def run(tensors: list[Any]) -> Any:
            at = [each.data_ptr() for each in tensors]
            for number, align in aligned:
                if at[number] % align:
                    return None
            results = prepared(tensors, at)
            if results is None:
                return None
            return results[0] if alone else tuple(results)

        return run


def load(folder: str | Path) -> Operator:
    """The winner of a folder, installed nowhere. Raises Refused."""
    operator = Operator(read_winner(Path(folder)))
    _count(operator)
    return operator


def install(folder: str | Path) -> Operator:
    """Put the winner of a folder in the place of its operator. Raises Refused."""
    return put_in_place(load(folder))


def put_in_place(operator: Operator) -> Operator:
    """Have it called in place of its operator. Raises Refused where another is."""
    name = operator.winner.operator
    if name in _installed:
        raise Refused(f"{name} has a winner in its place already: take_out({name!r}) first")
    torch = importlib.import_module("torch")
    namespace, _, rest = name.partition("::")
    library = torch.library.Library(namespace, "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered")
        library.impl(rest, operator.call, operator.winner.device.upper(), with_keyset=True)
    _installed[name] = (operator, library)
    return operator


def take_out(name: str) -> bool:
    """Give an operator back to PyTorch; whether a winner was in its place."""
    found = _installed.pop(name, None)
    if found is None:
        return False
    found[1]._destroy()
    return True


@contextmanager
def installed(folder: str | Path) -> Generator[Operator]:
    """The winner in its operator's place, as long as the block lasts. Raises Refused."""
    operator = install(folder)
    try:
        yield operator
    finally:
        take_out(operator.winner.operator)


def folders_in(place: Path) -> list[Path]:
    """The folder itself where it is a winner's, else those in it that are."""
    if (place / "operator.json").is_file():
        return [place]
    return sorted(file.parent for file in place.glob("*/operator.json"))


def _original(torch: Any, winner: Winner) -> Any:
    """The kernel that is in the operator's place now."""
    get_kernel = getattr(torch.library, "get_kernel", None)
    if get_kernel is None:
        raise Refused(
            f"torch {torch.__version__} cannot tell an operator's kernel, to which other shapes "
            "would be left: one with torch.library.get_kernel can"
        )
    try:
        return get_kernel(winner.operator, winner.device.upper())
    except RuntimeError as error:
        raise Refused(f"this torch has no {winner.operator} on {winner.device}: {error}") from error


def _first_shapes(winner: Winner) -> frozenset[tuple[int, ...]]:
    """Shapes of the first arguments of its calls, where these are tensors."""
    first: list[Any] = [each.key[0][0] for each in winner.cases if each.key[0]]
    return frozenset(each[2] for each in first if each[:1] == (TENSOR,))


def _takes_tensors(torch: Any, winner: Winner) -> frozenset[int]:
    """Places of its arguments that are tensors."""
    name, _, overload = winner.operator.partition(".")
    arguments = torch._C._get_schema(name, overload).arguments
    return frozenset(n for n, each in enumerate(arguments) if str(each.type) == "Tensor")


def _dispatch_key(torch: Any, winner: Winner) -> Any:
    return getattr(torch._C.DispatchKey, winner.device.upper())


def _code(torch: Any, winner: Winner) -> HostCode | MachineCode:
    if winner.device == "cuda":
        return MachineCode(winner, torch)
    here = processor()
    if winner.target != here:
        raise Refused(
            f"the kernel was built and proved on {winner.target}, and this is {here}: export it "
            "again here"
        )
    if platform.system() != "Linux":
        raise Refused(f"host code for Linux does not run on {platform.system()}")
    return HostCode(winner, torch)


def _count(operator: Operator) -> None:
    folder = os.environ.get(USES)
    if not folder:
        return
    if not _counted:
        atexit.register(_tell, folder)
    _counted[operator.winner.operator] = operator


def _tell(folder: str) -> None:
    told: Mapping[str, int] = {name: each.uses for name, each in _counted.items()}
    Path(folder, f"{os.getpid()}.json").write_text(json.dumps(told), encoding="utf-8")
