"""How many times as fast as PyTorch's an operator is with its winner: called alone, on the tensors
that a program gave it. In a child, which is started by `gain_alone`:

    python -m kernelwright.runners.recording.operators.alone RECORDING LABEL WINNER
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, cast

from ....deploy.aten import installed
from ...errors import SpecError
from ..running import run_program
from .seen import SeenOperator, is_tensor, operators_of

BLOCK_S, ROUNDS, MOST_CALLS = 0.02, 7, 2000
SAID = "times as fast: "
LIMIT_S = 120.0


def gain_alone(count: Path, label: str, winner: Path, scratch: Path) -> float | None:
    """Median of blocks in turns, as the dispatcher calls both; None: it cannot be told, as its
    tensors were not kept, or are not those that the winner was proved for.

    `count`: the folder of the recording's processes.
    """
    command = (sys.executable, "-P", "-m", __name__, str(count), label, str(winner))
    ran = run_program(command, folder=scratch, scratch=scratch, environment={}, timeout_s=LIMIT_S)
    said = [line.removeprefix(SAID) for line in ran.stdout.splitlines() if line.startswith(SAID)]
    return float(said[-1]) if said and not ran.failed else None


def gain_of(seen: SeenOperator, winner: Path) -> float | None:
    """The same, in this process. Raises SpecError for arguments that cannot be made again."""
    torch = importlib.import_module("torch")
    if seen.kept is None:
        return None
    kept: dict[str, Any] = torch.load(seen.kept, weights_only=True)
    given = iter([each.to(seen.device) for each in kept["given"]])
    args, named = cast("tuple[Any, Any]", seen.key)
    positional = [value_of(each, given, torch) for each in args]
    keywords = {name: value_of(each, given, torch) for name, each in named}
    operator = _operator(torch, seen.operator)
    on_gpu = seen.device != "cpu"

    def call() -> None:
        operator(*positional, **keywords)

    with torch.no_grad():
        calls = _enough(torch, call, on_gpu)
        plain, replaced = list[float](), list[float]()
        for _ in range(ROUNDS):
            plain.append(_block(torch, call, calls, on_gpu))
            with installed(winner) as new:
                replaced.append(_block(torch, call, calls, on_gpu))
                if not new.uses:
                    return None
    return median(plain[1:]) / median(replaced[1:])


def value_of(part: Any, tensors: Iterator[Any], torch: Any) -> Any:
    """An argument of a call, of what its key says of it. Raises SpecError."""
    if is_tensor(part):
        return next(tensors)
    if len(part) == 2 and isinstance(part[0], str):
        kind, value = part
        if kind != "other":
            return value
        name = str(value).removeprefix("torch.")
        if not hasattr(torch, name):
            raise SpecError(f"{value} cannot be made again")
        return getattr(torch, name)
    return [value_of(each, tensors, torch) for each in part]


def _operator(torch: Any, name: str) -> Any:
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


def _enough(torch: Any, call: Callable[[], None], on_gpu: bool) -> int:
    """Calls of a block that takes long enough to be timed."""
    _block(torch, call, 2, on_gpu)
    return max(2, min(MOST_CALLS, round(BLOCK_S / _block(torch, call, 3, on_gpu))))


def _block(torch: Any, call: Callable[[], None], calls: int, on_gpu: bool) -> float:
    """Seconds a call: of a GPU until its queue is empty again."""
    if on_gpu:
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    if on_gpu:
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Say it of the recording, the label and the winner of the command line."""
    count, label, winner = sys.argv[1:]
    gain = gain_of(operators_of(Path(count)).labelled(label), Path(winner))
    if gain is not None:
        print(f"{SAID}{gain:.6g}")


if __name__ == "__main__":
    main()
