"""A user's reference, called with arrays of its own library: once in fp64, once natively.

Where the contract's math is TF32, the native call gets float32 inputs truncated to TF32, whatever
its library multiplies with: the trusted result is as far from the truth as an honest kernel on
tensor cores. No floor could stand for that: where a few terms cancel, the error is a share of the
terms, not of the result.
"""

from __future__ import annotations

import time
import types
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..dtypes import is_float, truncated_to_tf32
from ..errors import ReferenceFailed
from ..specs.contract import BoundContract
from .arrays import NUMPY, ArrayLibrary, HostArray
from .reference_lacks import way_out

FUNCTION = "reference"
EXACT, NATIVE = "with float64 inputs", "with native inputs"


class Reference:
    """The function `reference` of a source, which runs when this is made.

    What cupy cannot do is done by numpy; `fallen_back` then says so in words. Raises
    ReferenceFailed when the source does not load.
    """

    def __init__(
        self, source: str, library: ArrayLibrary, math: str, native: str = FUNCTION
    ) -> None:
        """`native`: the function that is called natively, where the source has one for it."""
        self.library = library
        self.fallen_back = ""
        self._math = math
        module = _load(source)
        self._functions = {EXACT: _function(module, FUNCTION), NATIVE: _function(module, native)}
        self._refused = set[str]()

    def outputs(
        self, contract: BoundContract, inputs: Mapping[str, HostArray]
    ) -> tuple[list[Any], list[Any]]:
        """Every output in fp64 and natively, from the very inputs the kernel gets, as stored
        arrays of the library; what is no float is the same in both.

        Raises ReferenceFailed when the function raises or breaks the contract.
        """
        return self._call(contract, inputs, EXACT), self._call(contract, inputs, NATIVE)

    def seconds(
        self, contract: BoundContract, inputs: Mapping[str, HostArray], enough_s: float
    ) -> float:
        """How long one native call takes, arguments made before: the least of calls repeated for
        `enough_s`, after a first one, which counts where it takes longer than that.

        The least, as nothing tells which call others held up: a library whose threads spin takes a
        hundred times as long beside another busy program.

        Raises ReferenceFailed. For a library whose calls return when they are done.
        """
        try:
            with self.library.calling(self._math):
                values = self._arguments(self.library, contract, inputs, NATIVE)
                first = self._once(values)
                taken, began = list[float](), time.perf_counter()
                while first < enough_s and time.perf_counter() - began < enough_s:
                    taken.append(self._once(values))
        except BaseException as error:
            raise ReferenceFailed(f"the reference raised {NATIVE}: {_words(error)}") from error
        return min(taken or [first])

    def _once(self, values: Mapping[str, Any]) -> float:
        began = time.perf_counter()
        self._functions[NATIVE](**values)
        return time.perf_counter() - began

    def _call(
        self, contract: BoundContract, inputs: Mapping[str, HostArray], how: str
    ) -> list[Any]:
        """Outputs in our library: floats in float64 if exact, otherwise stored."""
        library = self.library
        if library.name == "cupy" and how not in self._refused:
            try:
                return self._run(library, contract, inputs, how)
            except BaseException as error:
                refusal = _words(error)
            library.release()
        elif library.name != "cupy":
            return self._run_or_fail(library, contract, inputs, how)
        else:
            refusal = ""
        results = self._run_or_fail(NUMPY, contract, inputs, how)
        if refusal:
            self._refused.add(how)
            told = f"{how} by numpy on the host, because cupy refused: {refusal}"
            self.fallen_back = f"{self.fallen_back}; {told}" if self.fallen_back else told
        return [
            library.from_host(values, _kind(bound.argument.dtype, how))
            for bound, values in zip(contract.outputs, results, strict=True)
        ]

    def _run_or_fail(
        self,
        library: ArrayLibrary,
        contract: BoundContract,
        inputs: Mapping[str, HostArray],
        how: str,
    ) -> list[Any]:
        try:
            return self._run(library, contract, inputs, how)
        except ReferenceFailed:
            raise
        except BaseException as error:
            raise ReferenceFailed(
                f"the reference raised {how}: {_words(error)}", next_step=way_out(error)
            ) from error

    def _run(
        self,
        library: ArrayLibrary,
        contract: BoundContract,
        inputs: Mapping[str, HostArray],
        how: str,
    ) -> list[Any]:
        with library.calling(self._math):
            values = self._arguments(library, contract, inputs, how)
            returned: Any = self._functions[how](**values)
            arrays = [library.result(each) for each in _several(returned)]
            _check_shapes(contract, arrays)
            return [
                _converted(library, array, _kind(bound.argument.dtype, how))
                for bound, array in zip(contract.outputs, arrays, strict=True)
            ]

    def _arguments(
        self,
        library: ArrayLibrary,
        contract: BoundContract,
        inputs: Mapping[str, HostArray],
        how: str,
    ) -> dict[str, Any]:
        """What the function is called with, by name."""
        values: dict[str, Any] = {
            a.name: a.value for a in contract.arguments if a.argument.role == "scalar"
        }
        for bound in contract.inputs:
            dtype = bound.argument.dtype
            stored = library.from_host(self._given(inputs[bound.name], dtype, how), dtype)
            widened = how == EXACT and is_float(dtype)
            values[bound.name] = (
                library.float64(stored, dtype) if widened else library.argument(stored, dtype)
            )
        return values

    def _given(self, values: HostArray, dtype: str, how: str) -> HostArray:
        """What the reference starts from: with TF32 what tensor cores read of a float32."""
        if self._math == "tf32" and dtype == "float32" and how == NATIVE:
            return truncated_to_tf32(values)
        return values


def _several(returned: Any) -> Iterable[Any]:
    return cast("list[Any]", returned) if isinstance(returned, tuple | list) else [returned]


def _kind(dtype: str, how: str) -> str:
    return "float64" if how == EXACT and is_float(dtype) else dtype


def _converted(library: ArrayLibrary, array: Any, dtype: str) -> Any:
    return library.float64(array) if dtype == "float64" else library.rounded(array, dtype)


def _check_shapes(contract: BoundContract, arrays: list[Any]) -> None:
    wanted = contract.outputs
    if len(arrays) != len(wanted):
        raise ReferenceFailed(
            f"the reference returned {len(arrays)} outputs",
            valid=f"{len(wanted)}: {', '.join(b.name for b in wanted)}",
        )
    for bound, array in zip(wanted, arrays, strict=True):
        if tuple(array.shape) != bound.shape:
            raise ReferenceFailed(
                f"the reference returned `{bound.name}` with shape {tuple(array.shape)}",
                valid=f"{bound.shape} for symbols {dict(contract.symbols)}",
            )


def _load(source: str) -> types.ModuleType:
    module = types.ModuleType(FUNCTION)
    try:
        exec(compile(source, f"{FUNCTION}.py", "exec"), module.__dict__)
    except BaseException as error:
        raise ReferenceFailed(
            f"the reference does not load: {_words(error)}", next_step=way_out(error)
        ) from error
    return module


def _function(module: types.ModuleType, name: str) -> Any:
    function = getattr(module, name, None)
    if not callable(function):
        raise ReferenceFailed(
            f"the reference defines no function `{name}`",
            valid="def reference(**arrays): ... that returns the outputs in order",
        )
    return function


def _words(error: BaseException) -> str:
    """An exception with the line of the reference that raised it."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == f"{FUNCTION}.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    where = "" if line is None else f" (line {line} of the reference)"
    return f"{type(error).__name__}: {error}{where}"
