"""A product of fp16 or bf16 matrices on Hopper's tensor cores: TMA, wgmma, and warps with roles.

A block of three warpgroups stays for many tiles of 128 x N: one warpgroup loads by tensor maps into
a ring of stages, two multiply. Sums are in float, as before; any size is right, and fast where
rows begin at multiples of 16 bytes (TMA).

Layouts: rows of 128 bytes with the 128-byte swizzle. A is K-major; B is K-major when stored N x K,
else MN-major (transposed), 64 columns a box. Descriptor fields as the PTX ISA has them
(asynchronous warpgroup level matrix shared memory layout); for an MN-major operand the leading
offset leads to the next 64 columns, the stride offset to the next 8 rows along k.
"""

from __future__ import annotations

from typing import Any

from .....runners.errors import SpecError
from .....runners.model import Candidate
from .....runners.specs.devices import device_for
from ...shared.affine import Form
from ...shared.base import Move, NotApplicable, Proposals, State
from .parts.facts import Facts, recognised
from .parts.products import Product, read_product
from .parts.writing import clash, launched, rewritten, template

TYPES = {"float16": "f16", "bfloat16": "bf16"}
HOPPER = ("", "h100", "h200", "gh200", "h800", "h20")
"""what a spec may call its device; an empty name is built for the H100"""
TILES = ((256, 4, 0.5), (128, 6, 0.35), (192, 4, 0.25))
"""columns, stages, prior: 128 x 256 x 64 halves are 48 KiB a stage, of the 227 KiB of a block"""
KNOBS = {"GROUP": (4, 8, 16, 32)}
GROUP = 8
BLOCKS = 132
"""multiprocessors of an H100 SXM, for a GPU of which no profile is known"""
A_MAP, B_MAP = "left_map", "right_map"
OWN = frozenset({"a_from", "b_from", "c_to", "m_size", "n_size", "k_size", A_MAP, B_MAP})
"""names of the new kernel that are declared from parameters, or beside them"""


def _write(state: State) -> Proposals:
    read = recognised(state, read_product, "no matrix product")
    if isinstance(read, NotApplicable):
        return read
    facts, product = read
    reason = _unfit(facts, product)
    if reason is not None:
        return NotApplicable(reason)
    if taken := clash(facts, "hgemm_wgmma.cu") or clash(facts, "wgmma_parts.cu"):
        return NotApplicable(taken)
    return tuple(_candidate(facts, product, *tile) for tile in TILES)


def _unfit(facts: Facts, product: Product) -> str | None:
    name = facts.spec.device_profile.gpu_name.lower().replace("nvidia", "").split()
    if (name[0] if name else "") not in HOPPER:
        return "wgmma needs a GPU of the Hopper generation"
    left, right = (facts.arrays[o.array].dtype for o in (product.left, product.right))
    if left != right or left not in TYPES:
        return f"wgmma multiplies two factors of fp16 or bf16, not {left} and {right}"
    if facts.arrays[product.output].dtype not in (*TYPES, "float32"):
        return "the output is neither fp16, bf16 nor fp32"
    if product.batch is not None or not product.left.k_contiguous:
        return "a batch of products, or a left factor that is stored transposed"
    arrays = product.left.array, product.right.array, product.output
    if not all(facts.aligned(a, 16) for a in arrays):
        return "TMA needs arrays aligned to 16 bytes, which the contract does not promise"
    if any(facts.size_text(s) is None for s in (product.m, product.n, product.k)):
        return "no argument holds a size of the product"
    if taken := sorted(OWN & {p.name for p in facts.kernel.function.parameters}):
        return f"the new kernel has another `{taken[0]}` than this one"
    return None


def _blocks(facts: Facts) -> int:
    """The GPU's multiprocessors: a block each, which takes one tile after the other. A block more
    would wait until another has done all its tiles."""
    try:
        return device_for(facts.spec.device_profile, ()).sm_count
    except SpecError:
        return BLOCKS


def _aligned(facts: Facts, product: Product) -> str:
    """C++: whether both factors' and the output's rows begin at multiples of 16 bytes."""
    sizes = {"k_size": product.k, "n_size": product.n}
    tests = [f"{n} % 8 == 0" for n, s in sizes.items() if facts.multiple_of(s) % 8]
    return " && ".join(tests) or "true"


def _candidate(
    facts: Facts, product: Product, columns: int, stages: int, prior: float
) -> Candidate:
    types = {p.name: p.type for p in facts.kernel.function.parameters}
    stored = "words" if facts.arrays[product.output].dtype == "float32" else "halves"
    b_along_k = product.right.k_contiguous
    body = template("hgemm_wgmma.cu").substitute(
        A=product.left.array,
        B=product.right.array,
        C=product.output,
        A_MAP=A_MAP,
        T=types[product.left.array],
        OUT=types[product.output],
        M=facts.size_text(product.m),
        N=facts.size_text(product.n),
        K=facts.size_text(product.k),
        TILE_N=columns,
        ALIGNED=_aligned(facts, product),
        B_AT="(long long)n * k_size + k" if b_along_k else "(long long)k * n_size + n",
        B_LEADING=16 if b_along_k else 8192,
        B_STEP=2 if b_along_k else 128,
        LOAD_B=_load_b(columns, b_along_k),
        EPILOGUE=product.epilogue.function,
        STORE=template(f"wgmma_store_{stored}.cu").substitute(TILE_N=columns),
    )
    kind = TYPES[facts.arrays[product.left.array].dtype]
    pairs = template(f"wgmma_pair_{stored}.cu").substitute()
    prelude = f"{_parts(kind, columns, not b_along_k)}\n{pairs}"
    maps = tuple(f"const __grid_constant__ WgmmaTensorMap {n}" for n in (A_MAP, B_MAP))
    return Candidate(
        method=MOVE.method,
        detail=f"wgmma and TMA: tiles of 128 x {columns} x 64, {stages} stages, a warpgroup loads",
        source=rewritten(facts, body, "384, 1", prelude, more=maps),
        plan=_plan(facts, product, columns, stages),
        knobs=KNOBS,
        prior=prior,
    )


def _load_b(columns: int, along_k: bool) -> str:
    to = "a_tile + WGMMA_A_BYTES"
    if along_k:
        return f"tensor_load({to}, &{B_MAP}, k, n_first, bar);"
    return (
        f"for (int j = 0; j < {columns // 64}; ++j)\n                        "
        f"tensor_load({to} + j * 8192, &{B_MAP}, n_first + j * 64, k, bar);"
    )


def _parts(kind: str, columns: int, transposed: bool) -> str:
    count = columns // 2
    names = [f"%{i}" for i in range(count)]
    lines = [", ".join(names[i : i + 16]) for i in range(0, count, 16)]
    operands = ",\\n".join(lines).split("\\n")
    return template("wgmma_parts.cu").substitute(
        N=columns,
        REGISTERS=count,
        TYPE=kind,
        OPERANDS="\n".join(f'        "{line}"' for line in operands),
        OUTPUTS=", ".join(f'"+f"(d[{i}])' for i in range(count)),
        A=count,
        B=count + 1,
        ADD=count + 2,
        TRANSPOSED=int(transposed),
    )


def _plan(facts: Facts, product: Product, columns: int, stages: int) -> dict[str, Any]:
    m, n, k = product.m, product.n, product.k
    right = (n, k, columns) if product.right.k_contiguous else (k, n, 64)
    maps = (
        _map(facts, product.left.array, m, k, 128),
        _map(facts, product.right.array, *right),
    )
    tiles = f"cdiv({m.text()}, 128) * cdiv({n.text()}, {columns})"
    return launched(
        facts,
        [f"min({_blocks(facts)}, {tiles})"],
        ["3 * 128"],
        shared=f"WGMMA_STAGES * {(128 + columns) * 128} + 1024",
        args=[*_names(facts), *maps],
        defines={"WGMMA_STAGES": stages, "GROUP": GROUP},
    )


def _names(facts: Facts) -> list[Any]:
    """The launch's arguments as before: the contract's, in order, unless it says so itself."""
    if facts.step.args is None:
        return [a.name for a in facts.spec.io.arguments]
    return list(facts.step.args)


def _map(facts: Facts, array: str, rows: Form, columns: Form, box: int) -> dict[str, Any]:
    """The tensor map of a matrix; of its first element alone where TMA cannot address its rows."""
    argument = facts.arrays[array]
    sizes = columns.text(), rows.text()
    dims: list[str] = list(sizes)
    stride = f"2 * ({sizes[0]})"
    if facts.multiple_of(columns) % 8:
        fits = f"({sizes[0]}) % 8 == 0"
        dims = [f"({size}) if {fits} else 1" for size in sizes]
        stride = f"{stride} if {fits} else 16"
    return {
        "tensormap": {
            "buffer": argument.name,
            "dtype": argument.dtype,
            "dims": dims,
            "strides": [stride],
            "box": [64, box],
            "swizzle": 3,
            "l2_promotion": 3,
        }
    }


MOVE = Move(
    id="hgemm_wgmma",
    method="switch_to_mma_or_wgmma",
    languages=("cuda",),
    why="A loop of multiply-adds in float runs at a fifteenth of the tensor cores' speed. On "
    "Hopper only wgmma reaches their peak, fed by TMA through a ring of stages. Pays for every "
    "product of fp16 or bf16 matrices from some hundred rows on.",
    write=_write,
)
