"""The oracle's process: it makes inputs, holds the expected values, and compares outputs.

The user's reference runs here and nowhere else, confined before it is loaded: no network,
no other programs, no writing, no reading outside the Python installation and its own files.
"""

from __future__ import annotations

import mmap
import os
import sys
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .channel import Channel
from .contract import BoundContract, bind
from .errors import KernelwrightError, ProcessLost, ReferenceFailed
from .layout import record
from .oracle_messages import JudgeOutputs, MakePool, OpenReference
from .sandbox import drop_capabilities, install_seccomp, landlock, reference_filter
from .seccomp import has_seccomp
from .spec import Contract

REFERENCE_NAME = "reference"


def confine(readable: list[Path]) -> None:
    """Close the doors behind this process; called before numpy starts its threads."""
    system = [
        Path(p) for p in ("/usr", "/lib", "/lib64", "/etc", "/sys/devices/system", "/proc/self")
    ]
    python = {Path(p) for p in (sys.prefix, sys.base_prefix, *filter(None, sys.path))}
    landlock([*system, *sorted(python), Path(__file__).parents[1], *readable], [])
    drop_capabilities()
    if has_seccomp():
        install_seccomp(reference_filter(os.getpid()))


class Oracle:
    """The references, pools and expected values of the kernels that are open."""

    def __init__(self) -> None:
        self._contracts: dict[str, Contract] = {}
        self._functions: dict[str, Any] = {}
        self._files: dict[str, dict[str, str]] = {}
        self._bound: dict[str, BoundContract] = {}
        self._seeds: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._expected: dict[tuple[str, int], list[Any]] = {}

    def open(self, message: OpenReference) -> None:
        """Load a reference. Raises ReferenceFailed when it does not even load."""
        self._contracts[message.kernel] = message.contract
        self._files[message.kernel] = message.init_files
        if message.source is not None:
            self._functions[message.kernel] = _load(message.source)

    def pool(self, message: MakePool) -> int:
        """Make the inputs of every seed; a file descriptor with one record a slot."""
        import numpy as np

        from .inputs import make_inputs, pack

        contract = bind(self._contracts[message.kernel], message.symbols, message.label)
        self._bound[message.pool] = contract
        self._seeds[message.pool] = (message.kernel, message.seeds)
        for key in [k for k in self._expected if k[0] == message.pool]:
            del self._expected[key]
        layout = record(contract.inputs)
        fd = os.memfd_create("inputs")
        size = layout.nbytes * len(message.seeds)
        os.ftruncate(fd, size)
        whole = np.frombuffer(mmap.mmap(fd, size), dtype=np.uint8)
        for slot, seed in enumerate(message.seeds):
            arrays = make_inputs(contract, seed, self._files[message.kernel])
            for bound, place in zip(contract.inputs, layout.slots, strict=True):
                start = slot * layout.nbytes + place.offset
                pack(bound, arrays[bound.name], whole[start : start + place.nbytes])
        return fd

    def judge(self, message: JudgeOutputs, fd: int) -> list[list[dict[str, Any]]]:
        """Verdicts of every output of every record handed over, in order."""
        import numpy as np

        from .inputs import unpack
        from .judge import judge

        contract = self._bound[message.pool]
        layout = record(contract.outputs)
        count = max(message.places, default=-1) + 1
        verdicts = list[list[dict[str, Any]]]()
        with mmap.mmap(fd, count * layout.nbytes, prot=mmap.PROT_READ) as file:
            for slot, place in zip(message.slots, message.places, strict=True):
                data = np.frombuffer(
                    file[place * layout.nbytes : (place + 1) * layout.nbytes], "u1"
                )
                expected = self._expect(message.pool, slot, message.adopt, data)
                verdicts.append(
                    [
                        asdict(judge(b, e, unpack(b, data[s.offset : s.offset + s.nbytes])))
                        for b, e, s in zip(contract.outputs, expected, layout.slots, strict=True)
                    ]
                )
        return verdicts

    def _expect(self, pool: str, slot: int, adopt: bool, data: Any) -> list[Any]:
        """The truth for one seed, worked out once. `adopt`: the baseline's output is the truth."""
        known = self._expected.get((pool, slot))
        if known is not None:
            return known
        from .inputs import unpack
        from .judge import expect

        contract = self._bound[pool]
        kernel, seeds = self._seeds[pool]
        function = self._functions.get(kernel)
        if function is None:
            if not adopt:
                raise ReferenceFailed("the baseline has not been run on this input yet")
            layout = record(contract.outputs)
            exact = native = [
                unpack(b, data[s.offset : s.offset + s.nbytes])
                for b, s in zip(contract.outputs, layout.slots, strict=True)
            ]
        else:
            exact, native = _truth(function, contract, seeds[slot], self._files[kernel])
        self._expected[pool, slot] = [
            expect(b, e, n) for b, e, n in zip(contract.outputs, exact, native, strict=True)
        ]
        return self._expected[pool, slot]


def _load(source: str) -> Any:
    module = types.ModuleType(REFERENCE_NAME)
    try:
        exec(compile(source, f"{REFERENCE_NAME}.py", "exec"), module.__dict__)
    except BaseException as error:
        raise ReferenceFailed(f"the reference does not load: {_words(error)}") from error
    function = getattr(module, REFERENCE_NAME, None)
    if not callable(function):
        raise ReferenceFailed(
            "the reference defines no function `reference`",
            valid="def reference(**arrays): ... that returns the outputs in order",
        )
    return function


def _truth(function: Any, contract: BoundContract, seed: int, files: dict[str, str]) -> Any:
    """The reference in fp64 on the very inputs the kernel gets, and in the contract's dtypes."""
    from .dtypes import is_float
    from .inputs import make_inputs

    arrays = make_inputs(contract, seed, files)
    scalars = {a.name: a.value for a in contract.arguments if a.argument.role == "scalar"}
    floats = {a.name for a in contract.inputs if is_float(a.argument.dtype)}
    wide = {n: v.astype("float64") if n in floats else v.copy() for n, v in arrays.items()}
    return (
        _call(function, contract, {**wide, **scalars}, "with float64 inputs", native=False),
        _call(function, contract, {**arrays, **scalars}, "with native inputs", native=True),
    )


def _call(
    function: Any, contract: BoundContract, values: dict[str, Any], how: str, *, native: bool
) -> list[Any]:
    import numpy as np

    from .dtypes import numpy_dtype

    try:
        with np.errstate(all="ignore"):
            result: Any = function(**values)
    except BaseException as error:
        raise ReferenceFailed(f"the reference raised {how}: {_words(error)}") from error
    results: list[Any] = list(result) if isinstance(result, tuple | list) else [result]  # pyright: ignore[reportUnknownArgumentType]
    wanted = contract.outputs
    if len(results) != len(wanted):
        raise ReferenceFailed(
            f"the reference returned {len(results)} outputs",
            valid=f"{len(wanted)}: {', '.join(b.name for b in wanted)}",
        )
    arrays: list[Any] = [np.asarray(r) for r in results]
    for bound, array in zip(wanted, arrays, strict=True):
        if array.shape != bound.shape:
            raise ReferenceFailed(
                f"the reference returned `{bound.name}` with shape {array.shape}",
                valid=f"{bound.shape} for symbols {dict(contract.symbols)}",
            )
    if native:
        with np.errstate(all="ignore"):
            return [
                a.astype(numpy_dtype(b.argument.dtype)) for a, b in zip(arrays, wanted, strict=True)
            ]
    return arrays


def _words(error: BaseException) -> str:
    """An exception with the line of the reference that raised it."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == f"{REFERENCE_NAME}.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    where = "" if line is None else f" (line {line} of the reference)"
    return f"{type(error).__name__}: {error}{where}"


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD READABLE_PATH..."""
    channel = Channel.from_fd(int(sys.argv[1]))
    confine([Path(p) for p in sys.argv[2:]])
    oracle = Oracle()
    try:
        while True:
            message, fds = channel.receive()
            reply, out = _answer(oracle, message, fds)
            channel.send(reply, out)
            for fd in (*fds, *out):
                os.close(fd)
    except ProcessLost:
        pass  # the server is gone


def _answer(
    oracle: Oracle, message: dict[str, Any], fds: list[int]
) -> tuple[dict[str, Any], list[int]]:
    body = message["body"]
    try:
        match message["verb"]:
            case "open":
                oracle.open(OpenReference.model_validate(body))
            case "pool":
                return {}, [oracle.pool(MakePool.model_validate(body))]
            case "judge":
                return {"verdicts": oracle.judge(JudgeOutputs.model_validate(body), fds[0])}, []
            case verb:
                raise ValueError(f"the oracle knows no `{verb}`")
    except KernelwrightError as error:
        told = {"kind": type(error).__name__, "message": error.message, "valid": error.valid}
        return {"error": told}, []
    return {}, []


if __name__ == "__main__":
    main()
