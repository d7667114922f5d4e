"""Expressions in specs: arithmetic as Python has it, and nothing else that Python has."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.runners.errors import ExpressionError
from kernelwright.runners.specs.expressions import MAX_TEXT, evaluate, evaluate_int, names_in

NAMES = {"n": 7, "BLOCK": 4, "x": -2.5, "zero": 0}

NOT_ALLOWED = [
    "__import__('os')",
    "open('/etc/passwd')",
    "print(1)",
    "n.bit_length()",
    "n.real",
    "n[0]",
    "(lambda: 1)()",
    "lambda: 1",
    "(m := 4)",
    "[i for i in (1, 2)]",
    "sum(i for i in (1, 2))",
    "{i for i in (1, 2)}",
    "{1: 2}",
    "[1, 2]",
    "(1, 2)",
    "f'{n}'",
    "'text'",
    "b'text'",
    "1j",
    "None",
    "...",
    "max(*n)",
    "min(n, key=abs)",
    "abs(x=1)",
    "max(1, 2)(3)",
    "n is n",
    "n in n",
    "n << 2",
    "n >> 2",
    "n & 1",
    "n | 1",
    "n ^ 1",
    "n @ n",
    "~n",
    "+n",
]

NOT_EXPRESSIONS = [
    "",
    "   ",
    "1 +",
    "import os",
    "n = 3",
    "1; 2",
    "await n",
    "yield",
    "1\n2",
    "a\0b",
    "\ud800",
]


@pytest.mark.parametrize("text", NOT_ALLOWED)
def test_what_is_not_arithmetic_is_refused_and_the_valid_forms_are_named(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert "cdiv" in caught.value.valid


@pytest.mark.parametrize("text", NOT_ALLOWED)
def test_what_is_not_arithmetic_is_refused_before_any_value_is_asked_for(text: str) -> None:
    with pytest.raises(ExpressionError, match="not allowed"):
        names_in(text)


@pytest.mark.parametrize("text", ["1 or open('f')", "0 and n.real", "1 if 1 else [2]"])
def test_a_branch_that_is_never_taken_must_be_allowed_too(text: str) -> None:
    with pytest.raises(ExpressionError, match="not allowed"):
        evaluate(text, NAMES)


@pytest.mark.parametrize("text", NOT_EXPRESSIONS)
def test_text_that_python_cannot_read_as_an_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)


def test_the_offending_part_is_quoted_not_the_whole_text() -> None:
    with pytest.raises(ExpressionError, match=r"^`n\.real` is not allowed here"):
        evaluate("4 * (n.real + 1)", NAMES)


def test_an_unknown_name_is_named_with_the_known_ones() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("m * 2", {"n": 1, "k": 2})
    assert "`m`" in caught.value.message
    assert caught.value.valid == "k, n"


@pytest.mark.parametrize(
    "text", ["1 / 0", "1 // 0", "1 % 0", "0 ** -1", "1.0 // zero", "cdiv(n, zero)", "log2(0)"]
)
def test_division_by_zero_and_its_like_have_no_value(text: str) -> None:
    with pytest.raises(ExpressionError, match="has no value"):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text",
    ["sqrt(-1)", "1e308 * 10", "-1e308 * 10", "1e308 * 10 - 1e308 * 10", "1e999", "(-8) ** 0.5"],
)
def test_results_that_are_no_finite_real_number_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)
    with pytest.raises(ExpressionError):
        evaluate_int(text, NAMES)


@pytest.mark.parametrize("text", ["max()", "max(3)", "cdiv(1)", "sqrt(1, 2)", "abs()"])
def test_a_function_with_the_wrong_number_of_arguments_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError, match="has no value"):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "2 ** 2 ** 2 ** 2 ** 2 ** 2",
        "10 ** 1000",
        "(10 ** 70) * (10 ** 70)",
        "9" * 100,
        "next_pow2(1e300)",
        "floor(1e300)",
        "1e300 ** 10",
        "2 ** -(10 ** 9)",
        "round(5, -(10 ** 9))",
    ],
)
def test_values_too_large_for_any_size_are_refused_at_once(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text", ["(" * 240 + "1" + ")" * 240, "-" * 480 + "1", "not " * 120 + "1", "+".join("1" * 240)]
)
def test_deep_nesting_has_a_value_or_a_clear_error(text: str) -> None:
    try:
        assert abs(evaluate(text, {})) in (0, 1, 240)
    except ExpressionError as error:
        assert "deep" in error.message or "not an expression" in error.message


def test_nesting_beyond_the_stack_is_refused_rather_than_raised() -> None:
    def dive(levels: int) -> None:
        if levels:
            dive(levels - 1)
        else:
            evaluate("-" * 490 + "1", {})

    with pytest.raises(ExpressionError, match="nested too deeply"):
        dive(600)


def test_a_text_over_the_limit_is_refused_with_the_limit() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("1" + " " * MAX_TEXT, {})
    assert str(MAX_TEXT) in caught.value.valid


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cdiv(n, BLOCK) * 4", 8),
        ("-7 // 2", -4),
        ("-7 % 4", 1),
        ("7 // 2.0", 3.0),
        ("n / 2", 3.5),
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("BLOCK - n", -3),
        ("cdiv(-7, 4)", -1),
        ("next_pow2(n)", 8),
        ("next_pow2(8)", 8),
        ("next_pow2(0)", 1),
        ("next_pow2(8.5)", 16),
        ("round(2.5)", 2),
        ("round(3.5)", 4),
        ("floor(x)", -3),
        ("ceil(x)", -2),
        ("sqrt(16)", 4.0),
        ("log2(1024)", 10.0),
        ("abs(x)", 2.5),
        ("max(n, BLOCK, 9)", 9),
        ("min(n, BLOCK)", 4),
        ("1 if n > BLOCK else 2", 1),
        ("2 < n < 7", False),
        ("2 < n <= 7 != 8", True),
        ("True", True),
        ("not n", False),
        ("n and x", True),
        ("zero or 0", False),
        (" 3 ", 3),
    ],
)
def test_the_functions_and_operators_mean_what_they_say(text: str, value: float) -> None:
    found = evaluate(text, NAMES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("plain", [3, -1, 2.5, True, 0])
def test_plain_numbers_pass_through(plain: int | float) -> None:
    assert evaluate(plain, {}) is plain
    assert names_in(plain) == frozenset()


def test_and_or_and_conditions_leave_out_what_they_do_not_need() -> None:
    assert evaluate("zero and 1 // zero", NAMES) is False
    assert evaluate("n or 1 // zero", NAMES) is True
    assert evaluate("n if n else 1 // zero", NAMES) == 7
    assert evaluate("n < 0 < 1 // zero", NAMES) is False


def test_a_size_must_be_whole() -> None:
    assert evaluate_int("n / 7", NAMES) == 1
    assert type(evaluate_int("n / 7", NAMES)) is int
    with pytest.raises(ExpressionError) as caught:
        evaluate_int("n / 2", NAMES)
    assert "3.5" in caught.value.message
    assert "cdiv" in caught.value.valid


def test_names_in_lists_symbols_and_leaves_functions_out() -> None:
    assert names_in("cdiv(n, BLOCK) + max(m, 1)") == {"n", "BLOCK", "m"}
    assert names_in("max(max, 1)") == {"max"}


def _bracketed(value: float) -> str:
    return f"({value})"


NUMBERS = st.one_of(
    st.integers(-1000, 1000).map(_bracketed),
    st.floats(-1e6, 1e6, allow_nan=False).map(_bracketed),
    st.sampled_from(sorted(NAMES)),
)
BINARY = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">="])


def _text(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pieces = [st.just(p) if isinstance(p, str) else p for p in parts]
    return st.tuples(*pieces).map(" ".join)


def _combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _text("(", inner, BINARY, inner, ")"),
        _text("( -", inner, ")"),
        _text("( not", inner, ")"),
        _text("(", inner, "if", inner, "else", inner, ")"),
        _text(st.sampled_from(["abs", "round"]), "(", inner, ")"),
        _text(st.sampled_from(["min", "max"]), "(", inner, ",", inner, ")"),
        _text("bool (", inner, st.sampled_from(["and", "or"]), inner, ")"),
    )


@settings(max_examples=300)
@given(st.deferred(lambda: st.recursive(NUMBERS, _combine, max_leaves=8)))  # 1 s where collected
def test_arithmetic_agrees_with_python(generated: str) -> None:
    text = generated.replace("bool", "")
    if len(text) > MAX_TEXT:
        return
    try:
        found = evaluate(text, NAMES)
    except ExpressionError as refused:
        _confirm_refusal(generated, refused)
        return
    functions = {"abs": abs, "round": round, "min": min, "max": max, "bool": bool}
    # the text was made by this test from numbers, names and operators alone
    wanted = eval(generated, {"__builtins__": functions}, NAMES)
    assert found == wanted
    assert type(found) is type(wanted)


def _confirm_refusal(generated: str, refused: ExpressionError) -> None:
    """A refusal is right when Python has no finite value either, or the value is too large."""
    if "too large" in refused.message:
        return
    try:
        functions = {"abs": abs, "round": round, "min": min, "max": max, "bool": bool}
        wanted = eval(generated, {"__builtins__": functions}, NAMES)
    except (ArithmeticError, ValueError, TypeError):
        return
    assert isinstance(wanted, complex) or not math.isfinite(wanted)
