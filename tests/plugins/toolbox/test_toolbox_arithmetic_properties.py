"""Properties of the calculator: agreement with Python's own fractions, and nothing but answers or refusals."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aworld_toolbox.arithmetic import MAX_DIGITS, CalculationError, evaluate

Tree = tuple[str, Fraction]

OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: Fraction(a // b),
    "%": lambda a, b: a % b,
}
WORDS = [
    "1", "0", "2.5", "1e3", ".", "(", ")", "+", "-", "*", "/", "//", "%", "**", "^", "!", ",", " ", "sqrt(", "sin(",
    "log(", "max(", "comb(", "round(", "pi", "e", "99999", "1e99", "_", "=", "0.1", "atan2(", "tanh(", "x", "-1",
]  # fmt: skip


def leaves() -> st.SearchStrategy[Tree]:
    whole = st.integers(0, 10**25).map(lambda n: (str(n), Fraction(n)))
    small = st.integers(0, 12).map(lambda n: (str(n), Fraction(n)))
    decimal = st.tuples(st.integers(0, 10**9), st.integers(1, 9)).map(
        lambda pair: (f"{pair[0]}.{pair[1]}", Fraction(f"{pair[0]}.{pair[1]}"))
    )
    scientific = st.tuples(st.integers(1, 99), st.integers(-9, 9)).map(
        lambda pair: (f"{pair[0]}e{pair[1]}", Fraction(f"{pair[0]}e{pair[1]}"))
    )
    return st.one_of(small, whole, decimal, scientific)


@st.composite
def branches(draw: st.DrawFn, children: st.SearchStrategy[Tree]) -> Tree:
    kind = draw(st.sampled_from([*OPERATORS, "negative", "power"]))
    text, value = draw(children)
    if kind == "negative":
        return f"(-({text}))", -value
    if kind == "power":
        exponent = draw(st.integers(-4, 4))
        assume(value or exponent >= 0)
        return f"({text})**{exponent}", value**exponent
    other, other_value = draw(children)
    assume(other_value or kind in "+-*")
    return f"({text}){kind}({other})", OPERATORS[kind](value, other_value)


def terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def assert_shows(text: str, value: Fraction) -> None:
    shown = Fraction(text)
    if value.denominator == 1 or (terminates(value) and abs(value * 10**40) < 10**50 and value * 10**40 % 1 == 0):
        assert shown == value
    else:
        assert abs(shown - value) <= abs(value) / 10**29


@settings(max_examples=400, deadline=None)
@given(st.recursive(leaves(), branches, max_leaves=12))
def test_exact_arithmetic_agrees_with_fractions(tree: Tree) -> None:
    text, value = tree
    assume(value.numerator.bit_length() < 3_000 and value.denominator.bit_length() < 3_000)
    assert_shows(evaluate(text), value)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["+", "-", "*", "//", "% "]), st.integers(1, 50)), min_size=1, max_size=8))
def test_precedence_agrees_with_python(parts: list[tuple[str, int]]) -> None:
    text = "7" + "".join(f" {operator} {number}" for operator, number in parts)
    assert evaluate(text) == str(eval(text))  # the test's own text


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=25).map("".join)))
def test_any_text_is_answered_or_refused(text: str) -> None:
    try:
        result = evaluate(text)
    except CalculationError as error:
        assert "\n" not in str(error) and len(str(error)) < 250
        assert "the calculation failed" not in str(error), "an arithmetic error fell into the net"
        return
    assert len(result) <= MAX_DIGITS + 2
    assert Decimal(evaluate(result)) == Decimal(result)  # int() stops at 4,300 digits


@settings(max_examples=100, deadline=None)
@given(st.fractions(-1000, 1000, max_denominator=10**6))
def test_identities_hold_to_every_digit_shown(x: Fraction) -> None:
    text = f"({x.numerator}/{x.denominator})"
    assert evaluate(f"sin({text})**2 + cos({text})**2") == "1"
    assert_shows(evaluate(f"ln(exp({text}))"), x)
    assert_shows(evaluate(f"sinh(asinh({text}))"), x)
    assert_shows(evaluate(f"tan(atan({text}))"), x)
    assert_shows(evaluate(f"cbrt({text})**3"), x)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**40), st.integers(1, 12))
def test_perfect_powers_have_exact_roots(base: int, degree: int) -> None:
    assert evaluate(f"root({base**degree}, {degree})") == str(base)
    assert evaluate(f"floor(sqrt({base}))") == str(math.isqrt(base))


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**12), 10**12), st.integers(0, 6))
def test_rounding_takes_halves_away_from_zero(value: int, places: int) -> None:
    text = f"{'-' if value < 0 else ''}{abs(value) // 10**6}.{abs(value) % 10**6:06}"
    scaled, rest = divmod(abs(value), 10 ** (6 - places))
    expected = scaled + (1 if 2 * rest >= 10 ** (6 - places) and places < 6 else 0)
    rounded = Fraction(evaluate(f"round({text}, {places})"))
    assert rounded == Fraction(expected, 10**places) * (-1 if value < 0 else 1)


def test_a_deep_stack_of_the_caller_gives_a_refusal_at_worst() -> None:
    def descend(levels: int) -> str:
        return descend(levels - 1) if levels else evaluate("(" * 90 + "1" + ")" * 90)

    with pytest.raises(CalculationError, match="failed"):
        descend(800)
