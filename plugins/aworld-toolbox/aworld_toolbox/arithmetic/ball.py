"""Inexact numbers as balls: a decimal and a bound on its distance from the true value.

Ball arithmetic (J. van der Hoeven, "Ball arithmetic", 2009): every operation widens the bound by what its
inputs bring and by its own rounding. So a result knows how many of its digits are certain: sin(pi) is
known to be 0 within 1e-98 and counts as 0, and a difference that leaves no certain digit is refused
instead of shown. All functions expect the decimal context of `working`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import (
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction

from .errors import MAX_DIGITS, PRECISION, CalculationError, too_large, too_small, too_vague

ZERO, ONE = Decimal(0), Decimal(1)
_NEGLIGIBLE = Decimal("1e-30")
_SNAP = Decimal("1e-10")
_FUNCTION_DIGITS = 70
_TRAPS = [InvalidOperation, DivisionByZero, Overflow]


def working(digits: int = PRECISION) -> Context:
    """The decimal context of every calculation here, with so many digits and no reachable exponent limit."""
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=10**9, Emin=-(10**9), capitals=0, traps=_TRAPS)


@dataclass(frozen=True, slots=True)
class Ball:
    """A number within `radius` of `middle`."""

    middle: Decimal
    radius: Decimal

    def may_be_zero(self) -> bool:
        """Whether 0 lies in the ball."""
        return abs(self.middle) <= self.radius

    def is_zero(self) -> bool:
        """Whether the number counts as 0: it may be, and differs from it by less than 1e-30.

        Raises:
            CalculationError: it may be 0, or just as well a number that matters.
        """
        if not self.may_be_zero():
            return False
        if self.radius > _NEGLIGIBLE:
            raise too_vague()
        return True

    def certain_digits(self) -> int:
        """How many significant digits of the middle are certain; `PRECISION` if it is exact."""
        if self.may_be_zero() and self.radius:
            return 0
        if not self.radius:
            return PRECISION
        return min(PRECISION, self.middle.adjusted() - self.radius.adjusted() - 1)


def make(middle: Decimal, radius: Decimal) -> Ball:
    """A ball around a freshly rounded middle: the radius grows by one unit in its last place.

    Raises:
        CalculationError: the number is out of range (`MAX_DIGITS`).
    """
    if middle:
        size = middle.adjusted()
        if size >= MAX_DIGITS:
            raise too_large(size + 1)
        if size < -MAX_DIGITS and abs(middle) > radius:
            raise too_small()
        radius += ONE.scaleb(size - PRECISION + 1)
    return Ball(middle, radius)


def from_fraction(value: Fraction) -> Ball:
    """The ball of an exact fraction; its radius is 0 if the decimal is exact."""
    if value.denominator == 1 and value.numerator.bit_length() < 3 * PRECISION:
        return Ball(Decimal(value.numerator), ZERO)
    return make(Decimal(value.numerator) / Decimal(value.denominator), ZERO)


def add(left: Ball, right: Ball) -> Ball:
    """Sum."""
    return make(left.middle + right.middle, left.radius + right.radius)


def negate(value: Ball) -> Ball:
    """Negation, which rounds nothing."""
    return Ball(-value.middle, value.radius)


def multiply(left: Ball, right: Ball) -> Ball:
    """Product."""
    radius = abs(left.middle) * right.radius + abs(right.middle) * left.radius + left.radius * right.radius
    return make(left.middle * right.middle, radius)


def divide(left: Ball, right: Ball) -> Ball:
    """Quotient.

    Raises:
        CalculationError: the divisor counts as 0.
    """
    if right.is_zero():
        raise CalculationError("division by zero")
    quotient = left.middle / right.middle
    smallest = abs(right.middle) - right.radius
    return make(quotient, (left.radius + abs(quotient) * right.radius) / smallest)


def power(base: Ball, exponent: Ball) -> Ball:
    """Power of a positive base, from its logarithm.

    Raises:
        CalculationError: the result is out of range.
    """
    size = exponent.middle * base.middle.log10()
    if abs(size) > MAX_DIGITS + 1:
        raise too_large(int(size) + 1) if size > 0 else too_small()
    with localcontext(working(PRECISION + 20)):
        middle = base.middle**exponent.middle
        relative = abs(exponent.middle) * base.radius / (base.middle - base.radius)
        relative += abs(base.middle.ln()) * exponent.radius
    return make(+middle, 2 * abs(middle) * relative)


def apply(
    function: Callable[[Decimal], Decimal],
    value: Ball,
    low: Decimal | None = None,
    high: Decimal | None = None,
) -> Ball:
    """A function of one number that is smooth or monotone over the ball, clipped to its domain [low, high].

    The function is evaluated with `_FUNCTION_DIGITS` more digits. The radius is twice the larger change
    of the function between the middle and the two ends of the ball.
    """
    middle = value.middle
    with localcontext(working(PRECISION + _FUNCTION_DIGITS)):
        result = function(_clip(middle, low, high))
        radius = ZERO
        if value.radius:
            ends = (middle - value.radius, middle + value.radius)
            radius = 2 * max(abs(function(_clip(end, low, high)) - result) for end in ends)
    return make(+result, +radius)


def _clip(value: Decimal, low: Decimal | None, high: Decimal | None) -> Decimal:
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value


def floor(value: Ball) -> int:
    """The largest integer not above the number; a number within its radius of an integer counts as that.

    Raises:
        CalculationError: too few digits are known to tell.
    """
    low, high = _integer_below(value.middle - value.radius), _integer_below(value.middle + value.radius)
    if high > low and (high - low > 1 or value.radius > _SNAP):
        raise too_vague()
    return high


def _integer_below(value: Decimal) -> int:
    with localcontext(working(MAX_DIGITS + PRECISION)):
        whole = int(value)
        return whole - 1 if whole > value else whole


def integer(value: Ball) -> int | None:
    """The integer that the number is within its radius, or None."""
    if value.radius > _SNAP:
        return None
    nearest = floor(add(value, Ball(Decimal("0.5"), ZERO)))
    return nearest if abs(Decimal(nearest) - value.middle) <= value.radius else None
