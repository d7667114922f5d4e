"""The spec of a recorded kernel of Triton: source, types and constants are known by its hash."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from ...dtypes import DTYPES, OTHER_NAMES, DtypeName
from ...errors import SpecError
from ...inferring.signature import symbol_for
from ...inferring.triton_inference import triton_kernel
from ...specs.part import Expression
from ..sources import TritonSource
from .arguments import arguments_of
from .comparable import comparable, is_integer, value_of
from .observed import Observed, Opened, Taken
from .signatures import POINTER_BYTES
from .sizes import Sizes
from .workloads import workloads_of

CONSTEXPR = "constexpr"
MOST_NAME = 64
WARPS = (1, 2, 4, 8, 16)
_FLOATS8: Mapping[str, DtypeName] = {"fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}
_INTEGER = re.compile(r"([iu])(8|16|32|64)")


@dataclass(frozen=True, slots=True)
class _Constants:
    """What was known when it was compiled: constexprs of the source, and arguments that were
    folded into the code (integers that are 1)."""

    constexprs: Mapping[str, int | float | bool]
    folded: Mapping[str, int | float]


def short_name(name: str) -> str:
    """A name that a spec can have: Inductor's are longer."""
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 9]}_{hash_of(name)}"


def hash_of(text: str) -> str:
    """Eight hexadecimal digits of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def triton_spec(
    source: TritonSource, file_name: str, text: str, launches: Sequence[Observed], most_bytes: int
) -> Opened:
    """A spec of the first launch's kernel; the others are of the same machine code.

    `text`: the module beside the spec, in which it is called `short_name`. Raises SpecError, in a
    sentence, for what a spec cannot say.
    """
    name = short_name(source.name)
    constants = _constants(source, text, name)
    taken = _taken(source, launches[0])
    chosen, others = comparable(launches, taken)
    symbols = {
        symbol_for(t.name): [int(value_of(o.kept, t)) for o in chosen]
        for t in taken
        if is_integer(t)
    }
    sizes = Sizes(len(chosen), symbols)
    made = arguments_of(chosen, taken, sizes, {}, most_bytes)
    if made.passed is not None:
        raise SpecError(f"`{name}` was launched with a null pointer, which a spec cannot say")
    listed = {a["name"]: a for a in made.listed} | _folded(constants)
    read = triton_kernel(text, name)
    tiles = dict(read.parameters) if read else {}
    launch, tuned = _launch(source, chosen, sizes, constants, tiles)
    data: dict[str, Any] = {
        "name": re.sub(r"\W", "_", f"{name[:40]}_{launches[0].kept.label}"),
        "kernel": {
            "kernel_type": "triton",
            "source_path": file_name,
            "metadata": {"kernel_name": name},
            "launch": launch,
        },
        "io": {"arguments": [listed[n] for n in source.names if n in listed]},
        "symbols": dict.fromkeys(sizes.symbols),
        "workloads": workloads_of(chosen, sizes),
        "parameters": {
            **{n: _choices(tiles[n][0], int(constants.constexprs[n])) for n in tuned},
            "num_warps": _choices(WARPS, source.num_warps or 4),
        },
        "reference": "baseline",
        "device_profile": {"arch": "native"},
    }
    if any(o.noise for o in chosen):
        data["io"]["deterministic"] = False
    return Opened(data, made.arrays, (*_notes(launch, tuned), *made.notes, *map(_apart, others)))


def _folded(constants: _Constants) -> dict[str, dict[str, Any]]:
    """Arguments that are folded into the code, as scalars of a spec, by name."""
    return {
        n: {
            "name": n,
            "role": "scalar",
            "dtype": "float32" if isinstance(value, float) else "int32",
            "value": value,
        }
        for n, value in constants.folded.items()
    }


def _notes(launch: Mapping[str, Any], tuned: Sequence[str]) -> tuple[str, ...]:
    """What was guessed, where tiles can be tuned since the grid follows them."""
    if not tuned:
        return ()
    return (f"the grid {launch['grid']} gives what was recorded; the source does not say it",)


def _apart(label: str) -> str:
    return f"{label} differs in more than integers: a spec of its own"


def _constants(source: TritonSource, text: str, name: str) -> _Constants:
    """Raises SpecError for constants that are no numbers."""
    declared = _declared_constexprs(text, name)
    constexprs, folded = dict[str, int | float | bool](), dict[str, int | float]()
    for key, written in source.constant_values.items():
        try:
            value: object = ast.literal_eval(written)
        except (ValueError, SyntaxError):
            value = written
        if not isinstance(value, int | float):
            raise SpecError(
                f"`{key}` of `{source.name}` was {written}: a spec's constants are numbers",
                next_step="write that value into a kernel of your own, and a spec for it "
                "(`kernelwright spec --infer`)",
            )
        if key in declared:
            constexprs[key] = value
        else:
            folded[key] = value
    return _Constants(constexprs, folded)


def _declared_constexprs(text: str, name: str) -> frozenset[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            return frozenset(
                a.arg for a in given if a.annotation and CONSTEXPR in ast.unparse(a.annotation)
            )
    return frozenset()


def _taken(source: TritonSource, observed: Observed) -> tuple[Taken, ...]:
    """Parameters of the machine code: those that are no constants, in order; Triton's own scratch
    pointers come after them. Raises SpecError for types that no spec has."""
    types = dict(source.signature)
    passed = [n for n in source.names if types.get(n, CONSTEXPR) != CONSTEXPR]
    params = observed.kept.params
    if len(passed) > len(params):
        raise SpecError(
            f"`{source.name}` takes {len(passed)} arguments in its signature, and the recorded "
            f"kernel {len(params)}"
        )
    return tuple(
        _one(name, types[name], offset, len(raw))
        for name, (offset, raw) in zip(passed, params, strict=False)
    )


def _one(name: str, written: str, offset: int, size: int) -> Taken:
    bare = written.removeprefix("*").removeprefix("k") if written.startswith("*") else written
    dtype = _dtype(bare)
    if dtype is None:
        raise SpecError(
            f"`{name}` is `{written}` to Triton, which no argument of a spec can be",
            next_step="write a wrapper that makes it from a plain array, and a spec for that",
        )
    pointers = int(written.startswith("*"))
    expected = POINTER_BYTES if pointers else DTYPES[dtype].itemsize
    if size != expected:
        raise SpecError(f"`{name}` is `{written}` to Triton and has {size} bytes in the recording")
    return Taken(name, written, offset, size, dtype, pointers=pointers)


def _dtype(bare: str) -> DtypeName | None:
    if bare == "i1":
        return "bool"
    if found := _INTEGER.fullmatch(bare):
        return OTHER_NAMES[f"{'u' if found[1] == 'u' else ''}int{found[2]}_t"]
    return _FLOATS8.get(bare) or OTHER_NAMES.get(bare)


def _launch(
    source: TritonSource,
    launches: Sequence[Observed],
    sizes: Sizes,
    constants: _Constants,
    tiles: Mapping[str, object],
) -> tuple[dict[str, Any], list[str]]:
    """The launch, and the tiles that its grid follows: they can be tuned."""
    found = {n: int(v) for n, v in constants.constexprs.items() if n in tiles and v > 1}
    grid = list[Expression]()
    for index, axis in enumerate("xyz"):
        recorded = [o.kept.grid[index] // (source.num_ctas if not index else 1) for o in launches]
        proposed = _covers(list(sizes.symbols), list(found)) if max(recorded) > 1 else []
        grid.append(sizes.number(f"grid_{axis}", recorded, proposed, found))
    while len(grid) > 1 and grid[-1] == 1:
        grid.pop()
    tuned = [n for n in found if any(re.search(rf"\b{n}\b", str(g)) for g in grid)]
    fixed = {n: v for n, v in constants.constexprs.items() if n not in tuned}
    launch: dict[str, Any] = {"grid": grid}
    if fixed:
        launch["constexprs"] = fixed
    if source.num_stages:
        launch["num_stages"] = source.num_stages
    if source.num_ctas > 1:
        launch["num_ctas"] = source.num_ctas
    return launch, tuned


def _covers(symbols: Sequence[str], tiles: Sequence[str]) -> list[Expression]:
    """Grids that cover one size by one tile, or two sizes by two."""
    one: list[Expression] = [f"cdiv({s}, {t})" for s in symbols for t in tiles]
    two: list[Expression] = [
        f"cdiv({s}, {t}) * cdiv({z}, {u})"
        for s, z in permutations(symbols[:6], 2)
        for t, u in permutations(tiles[:4], 2)
    ]
    return one + two


def _choices(values: Sequence[int], now: int) -> dict[str, Any]:
    return {"values": sorted({*values, now}), "default": now}
