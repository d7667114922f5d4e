"""Correctness and times of ModelNews. In the child.

Their rules, by the facts of `eval.py` and `timing.py` of ScalingIntelligence/KernelBench on GitHub:
seed 42 before the arguments of the class, before each module and before inputs; modules in training
mode, without gradients; five trials, their seeds drawn from that seed, outputs of the same shapes
and close with 1e-4 absolute and relative for float32, 1e-2 for halves; 100 timed calls after 3, the
first left out, by CUDA events, the L2 cache overwritten before each, and the mean of them. On a
CPU, which they do not have, the clock of the host stands for events, and nothing is overwritten.
Inputs are drawn on the device by the same seeds, so that their values are not those of their host.

Ours: all sides in blocks, in an order drawn anew, to be told as an interval.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ..common.clock import Clock
from ..common.scores import Scored, Trial
from ..common.torch_library import tensors_in, torch
from ..forms.base import drawn, namespace_of
from ..forms.subjects import moved

SEED, TRIALS, WARM, TIMED, LEFT_OUT = 42, 5, 3, 100, 1
TOLERANCES = {"float32": 1e-4, "float64": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
L2_BYTES = 256 << 20
BLOCKS, BLOCK_MS = 24, 20.0
MOST_TIMED_S = 4.0
"""of their hundred calls: slow ones are fewer, as many as that allows, and at least ten"""
Side = Callable[[], Any]


def score(problem: Path, rivals: Sequence[Path], clock: Clock, *, compiled: bool) -> Scored:
    """Score the ModelNews of some files beside the Model of a problem; `compiled`: and beside
    torch.compile's."""
    names = namespace_of(problem)
    torch().manual_seed(SEED)
    arguments = tuple(names["get_init_inputs"]())
    models = {"eager": _made(names["Model"], arguments, clock.device)}
    for rival in rivals:
        made = namespace_of(rival)["ModelNew"]
        models[rival.stem] = _made(made, arguments, clock.device)
    inputs = _inputs(names, SEED, clock.device)
    first = next(t for t in tensors_in(inputs))
    tolerance = TOLERANCES.get(str(first.dtype).removeprefix("torch."), 1e-4)
    with torch().no_grad():
        trials = {
            name: _trials(names, models["eager"], model, tolerance, clock.device)
            for name, model in models.items()
            if name != "eager"
        }
        good = {n: m for n, m in models.items() if n == "eager" or all(t.close for t in trials[n])}
        sides: dict[str, Side] = {n: lambda m=m: m(*inputs) for n, m in good.items()}
        why = _with_compiled(sides, models["eager"], inputs) if compiled else ""
        with clock.alone():
            theirs = {name: _their_ms(side, clock) for name, side in sides.items()}
            blocks = _blocks(sides, clock)
    return Scored(
        tolerance=tolerance, trials=trials, theirs_ms=theirs, blocks_ms=blocks, not_compiled=why
    )


def _made(kind: Any, arguments: Sequence[Any], device: str) -> Any:
    torch().manual_seed(SEED)
    return kind(*arguments).to(device)


def _inputs(names: Mapping[str, Any], seed: int, device: str) -> tuple[Any, ...]:
    return moved(drawn(names["get_inputs"], seed, device), device)


def _trials(
    names: Mapping[str, Any], model: Any, new: Any, tolerance: float, device: str
) -> tuple[Trial, ...]:
    torch().manual_seed(SEED)
    seeds = [int(torch().randint(0, 2**32 - 1, (1,)).item()) for _ in range(TRIALS)]
    found = list[Trial]()
    for seed in seeds:
        inputs = _inputs(names, seed, device)
        torch().manual_seed(seed)
        wanted = tensors_in(model(*inputs))
        torch().manual_seed(seed)
        try:
            got = tensors_in(new(*inputs))
        except Exception as error:  # whatever a ModelNew raises
            found.append(Trial(close=False, worst=float("inf"), failed=str(error)[:400]))
            continue
        found.append(_compared(wanted, got, tolerance))
    return tuple(found)


def _compared(wanted: Sequence[Any], got: Sequence[Any], tolerance: float) -> Trial:
    shapes = [[tuple(t.shape) for t in each] for each in (got, wanted)]
    if shapes[0] != shapes[1]:
        failed = f"outputs have the shapes {shapes[0]}, not {shapes[1]}"
        return Trial(close=False, worst=float("inf"), failed=failed)
    pairs = list(zip(wanted, got, strict=True))
    close = all(torch().allclose(a, b, atol=tolerance, rtol=tolerance) for a, b in pairs)
    worst = max((float((a - b).abs().max()) for a, b in pairs if a.numel()), default=0.0)
    return Trial(close=close, worst=worst)


def _with_compiled(sides: dict[str, Side], model: Any, inputs: Sequence[Any]) -> str:
    """Add torch.compile's side; why there is none."""
    try:
        compiled = torch().compile(model)
        compiled(*inputs)
    except Exception as error:  # whatever Dynamo, Inductor and compilers raise
        return f"{type(error).__name__}: {error}"[:400]
    sides["compiled"] = lambda: compiled(*inputs)
    return ""


def _their_ms(side: Side, clock: Clock) -> float:
    for _ in range(WARM):
        side()
    once = max(clock.sample_ms(side, 1), 1e-6)
    count = max(10, min(TIMED, int(MOST_TIMED_S * 1e3 / once)))
    took = [_event_ms(side) if clock.device == "cuda" else clock.sample_ms(side, 1)
            for _ in range(count + LEFT_OUT)]  # fmt: skip
    return fmean(took[LEFT_OUT:])


def _event_ms(side: Side) -> float:
    cuda = torch().cuda
    torch().empty(L2_BYTES // 8, dtype=torch().int64, device="cuda").fill_(42)
    first, last = (cuda.Event(enable_timing=True) for _ in range(2))
    cuda.synchronize()
    first.record()
    side()
    last.record()
    cuda.synchronize()
    return float(first.elapsed_time(last))


def _blocks(sides: Mapping[str, Side], clock: Clock) -> dict[str, tuple[float, ...]]:
    counts = {
        name: max(1, min(1000, int(BLOCK_MS / max(clock.sample_ms(side, 2), 1e-4))))
        for name, side in sides.items()
    }
    rng, found = random.Random(20261124), {name: list[float]() for name in sides}
    for _ in range(BLOCKS):
        order = list(sides)
        rng.shuffle(order)
        for name in order:
            found[name].append(round(clock.sample_ms(sides[name], counts[name]), 6))
    return {name: tuple(each) for name, each in found.items()}
