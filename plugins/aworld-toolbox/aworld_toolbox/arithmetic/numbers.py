"""The numbers of the calculator and its operators.

A number is an exact fraction for as long as it can be, else a `Ball`. So 0.1 + 0.2 is 0.3 and 1/3*3 is 1,
and only roots, transcendental functions and very long fractions are rounded, at 100 digits.
`//` and `%` are Python's: the quotient is rounded down, the remainder has the divisor's sign
(https://docs.python.org/3/reference/expressions.html#binary-arithmetic-operations).
"""

import math
from decimal import Decimal
from fractions import Fraction

from . import ball
from .ball import Ball
from .errors import (
    MAX_BITS,
    MAX_DENOMINATOR_BITS,
    MAX_DIGITS,
    CalculationError,
    too_large,
    too_small,
    too_vague,
)

Number = Fraction | Ball

_LOG10_2 = math.log10(2)
_MAX_ROOT = 1_000


def exact(value: Fraction) -> Number:
    """An exact result: as it is, or as a ball where its denominator is too long.

    Raises:
        CalculationError: it is out of range (`MAX_DIGITS`).
    """
    numerator, denominator = value.numerator, value.denominator
    excess = numerator.bit_length() - denominator.bit_length()
    if excess >= MAX_BITS - 1 and abs(numerator) >= 10**MAX_DIGITS * denominator:
        raise too_large(int(excess * _LOG10_2) + 1)
    if excess <= 1 - MAX_BITS and 0 < abs(numerator) * 10**MAX_DIGITS < denominator:
        raise too_small()
    return ball.from_fraction(value) if denominator.bit_length() > MAX_DENOMINATOR_BITS else value


def as_ball(value: Number) -> Ball:
    """The number as a ball."""
    return value if isinstance(value, Ball) else ball.from_fraction(value)


def as_integer(value: Number) -> int | None:
    """The integer that the number is (within its radius, for a ball), or None."""
    if isinstance(value, Ball):
        return ball.integer(value)
    return value.numerator if value.denominator == 1 else None


def is_zero(value: Number) -> bool:
    """Whether the number is 0, or counts as 0 (`Ball.is_zero`)."""
    return value.is_zero() if isinstance(value, Ball) else not value


def compare(left: Number, right: Number) -> int:
    """-1, 0 or 1; 0 also for balls that overlap."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return (left > right) - (left < right)
    difference = ball.add(as_ball(left), ball.negate(as_ball(right)))
    return 0 if difference.may_be_zero() else (1 if difference.middle > 0 else -1)


def negate(value: Number) -> Number:
    """Negation."""
    return ball.negate(value) if isinstance(value, Ball) else -value


def add(left: Number, right: Number) -> Number:
    """Sum."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return exact(left + right)
    return ball.add(as_ball(left), as_ball(right))


def subtract(left: Number, right: Number) -> Number:
    """Difference."""
    return add(left, negate(right))


def multiply(left: Number, right: Number) -> Number:
    """Product; 0 times anything is exactly 0."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return exact(left * right)
    if not left or not right:
        return Fraction(0)
    return ball.multiply(as_ball(left), as_ball(right))


def divide(left: Number, right: Number) -> Number:
    """Quotient.

    Raises:
        CalculationError: division by zero.
    """
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        if not right:
            raise CalculationError("division by zero")
        return exact(left / right)
    return ball.divide(as_ball(left), as_ball(right))


def floor(value: Number) -> int:
    """The largest integer not above the number."""
    return ball.floor(value) if isinstance(value, Ball) else math.floor(value)


def floor_divide(left: Number, right: Number) -> Number:
    """Python's `//`: the quotient rounded down."""
    return Fraction(floor(divide(left, right)))


def remainder(left: Number, right: Number) -> Number:
    """Python's `%`: left - right * (left // right), with the divisor's sign."""
    return subtract(left, multiply(right, floor_divide(left, right)))


def power(base: Number, exponent: Number) -> Number:
    """Power; exact where the result is rational and not too long. 0**0 is 1, as in Python.

    Raises:
        CalculationError: 0 to a negative power, a negative base with a fractional exponent, or out of range.
    """
    whole = as_integer(exponent)
    if whole is not None and isinstance(base, Fraction):
        return _integer_power(base, whole)
    if is_zero(base):
        return _power_of_zero(exponent)
    inexact = as_ball(base)
    if inexact.may_be_zero():
        raise too_vague()
    if inexact.middle > 0:
        if isinstance(base, Fraction) and isinstance(exponent, Fraction):
            root = exact_root(base, exponent.denominator)
            if root is not None:
                return _integer_power(root, exponent.numerator)
        return ball.power(inexact, as_ball(exponent))
    if whole is None:
        raise CalculationError(
            "a negative number to a fractional power is not a real number (odd roots: cbrt(x), root(x, n))"
        )
    result = ball.power(ball.negate(inexact), as_ball(exponent))
    return ball.negate(result) if whole % 2 else result


def _power_of_zero(exponent: Number) -> Number:
    if is_zero(exponent):
        return Fraction(1)
    if as_ball(exponent).middle < 0:
        raise CalculationError("division by zero: 0 to a negative power")
    return Fraction(0)


def _integer_power(base: Fraction, exponent: int) -> Number:
    """An integer power of a fraction, refused before it is calculated if out of range."""
    if not base:
        return _power_of_zero(Fraction(exponent))
    if abs(base) == 1:
        return base if exponent % 2 else Fraction(1)
    bits = max(abs(base.numerator).bit_length(), base.denominator.bit_length()) - 1
    size = abs(exponent)
    if bits * size <= MAX_BITS:
        return exact(base**exponent)
    # Too long to be exact: out of range for an integer, which `ball.power` finds out from the logarithm.
    result = ball.power(as_ball(abs(base)), ball.from_fraction(Fraction(exponent)))
    return ball.negate(result) if base < 0 and exponent % 2 else result


def exact_root(value: Fraction, degree: int) -> Fraction | None:
    """The root of a non-negative fraction if it is rational (and, for degree > 2, short), else None."""
    if degree == 1:
        return value
    if degree > _MAX_ROOT:
        return value if value in (0, 1) else None
    numerator = _integer_root(value.numerator, degree)
    if numerator is None:
        return None
    denominator = _integer_root(value.denominator, degree)
    return None if denominator is None else Fraction(numerator, denominator)


def _integer_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    if value in (0, 1):
        return value
    if value.bit_length() > 300 * degree:
        return None
    rounded = +Decimal(value)  # Decimal operators take their operands unrounded, at any length
    near = int((rounded ** (1 / Decimal(degree))).to_integral_value())
    return near if near**degree == value else None
