"""exp of floats as a function that compilers vectorise, in place of a call for each element.

Under `math: ieee` it works in double and rounds once: at most 0.503 units in the last place from
the true value (glibc's expf: 0.502), and overflow, underflow, infinities and NaN are as in the
library. Only `math: fast` allows the one that works in float: about 2 units, no subnormals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runners.c_source.nodes import field, inside, parents, text_of
from ..every_language.compiler_flags import effective_flags
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.program import Function, read_program
from .parts.rewrite import before_functions, free_name, rewritten, with_includes
from .parts.types import kind_of

if TYPE_CHECKING:
    from tree_sitter import Node

EXACT_PRIOR, FAST_PRIOR = 0.4, 0.45
LOOSE = frozenset({"-ffast-math", "-Ofast", "-fassociative-math", "-funsafe-math-optimizations"})
CALLS = frozenset({"expf", "std::expf", "std::exp"})

# x = n ln 2 + r with |r| <= ln 2 / 2, so that e^x = 2^n e^r. Adding 1.5 * 2^52 (of floats:
# 1.5 * 2^23) leaves n in the low bits. e^r is its Taylor polynomial: of degree 8 its error is below
# r^9 / 9! = 2e-10, of degree 7 below 5e-9. Selections are masks, as GCC makes branches of ?: on
# floats and then does not vectorise.
EXACT = """\
// e^x, at most 0.503 units in the last place from the true value, for all x; no branch, no call.
inline float {name}(float x) {{
    constexpr double round = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves n in the low bits
    const double shifted = x * 1.4426950408889634 + round;
    const double n = shifted - round;
    const double r = x - n * 0.6931471805599453;  // e^x = 2^n e^r
    double p = 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    std::uint64_t exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    exponent = (exponent + 1023u) << 52;
    double power;
    std::memcpy(&power, &exponent, sizeof power);
    const float inside = static_cast<float>(p * power);
{far}}}
"""
FAST = """\
// e^x to about two units in the last place, zero below -87; no branch, no call.
inline float {name}(float x) {{
    constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
    const float shifted = x * 1.44269504f + round;
    const float n = shifted - round;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // e^x = 2^n e^r
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    std::uint32_t exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    exponent = (exponent + 127u) << 23;
    float power;
    std::memcpy(&power, &exponent, sizeof power);
    const float inside = p * power;
{far}}}
"""
FAR = """\
    std::uint32_t bits, result;
    std::memcpy(&bits, &x, sizeof bits);
    std::memcpy(&result, &inside, sizeof result);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t negative = 0u - (bits >> 31);
    const std::uint32_t nan = magnitude > 0x7f800000u ? bits : 0u;
    const std::uint32_t outside = (0x7f800000u & ~negative) | nan;  // infinity, 0 or NaN
    const std::uint32_t far = magnitude > {limit} ? ~0u : 0u;
    result = (outside & far) | (result & ~far);
    float value;
    std::memcpy(&value, &result, sizeof value);
    return value;
"""
EXACT_LIMIT, FAST_LIMIT = "0x42d20000u", "0x42ae0000u"
"""|x| above 105: beyond every float; above 87: beyond the normal ones"""


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    # what a macro opens may be read as a function within one: each call counts once
    calls = {
        c.start_byte: c for f in program.functions for c in inside(f.body) if _is_exp(c, f)
    }.values()
    if not calls:
        return NotApplicable("no loop calls expf, or std::exp of a float")
    if loose := sorted(LOOSE & set(effective_flags(state))):
        return NotApplicable(f"{loose[0]} lets the compiler undo how it rounds")
    name = free_name(program, "exponential")
    fast = state.spec.io.math == "fast"
    templates = [(EXACT, EXACT_LIMIT, EXACT_PRIOR, "rounded once from double")]
    if fast:
        templates.append((FAST, FAST_LIMIT, FAST_PRIOR, "in float, 2 units in the last place"))
    return tuple(
        rewritten(
            program,
            MOVE.method,
            f"exp as a polynomial that vectorises, {what}",
            [
                *with_includes(program, "<cstdint>", "<cstring>"),
                before_functions(program, form.format(name=name, far=FAR.format(limit=limit))),
                *(_renamed(call, name) for call in calls),
            ],
            prior,
        )
        for form, limit, prior, what in templates
    )


def _is_exp(node: Node, function: Function) -> bool:
    if node.type != "call_expression" or text_of(field(node, "function")) not in CALLS:
        return False
    given = field(node, "arguments").named_children
    as_float = text_of(field(node, "function")) != "std::exp"
    in_loop = any(n.type == "for_statement" for n in parents(node))
    return (
        len(given) == 1
        and (in_loop or function.node.parent is not None)
        and (as_float or kind_of(given[0], function) == "float")
    )


def _renamed(call: Node, name: str) -> Edit:
    function = field(call, "function")
    return Edit(function.start_byte, function.end_byte, name)


MOVE = Move(
    id="exact_exp",
    method="softmax_math_fusion",
    languages=("cpp",),
    why="Writes exp of floats as a polynomial without branches, as exact as the library's, so that "
    "loops around it vectorise. Pays where a loop calls exp for each element: the calls take most "
    "of its time. In float, and faster still, only where the contract's math is fast.",
    write=_write,
)
