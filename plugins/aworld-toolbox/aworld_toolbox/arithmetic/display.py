"""Numbers to text."""

from decimal import Decimal, localcontext
from fractions import Fraction

from .ball import from_fraction, working
from .errors import EXACT_DIGITS, MAX_DIGITS, PRECISION, SHOWN_DIGITS, too_vague
from .numbers import Number

_FEWEST_DIGITS = 10
_LEADING_ZEROS = 10


def show(value: Number) -> str:
    """The text of a number.

    Integers are shown in full, terminating decimals in full up to `EXACT_DIGITS` significant digits.
    Anything else is rounded (half to even) to `SHOWN_DIGITS`, or fewer where fewer are certain; trailing
    zeros are dropped. A number of which the last digits before the point are rounded off, and any fraction
    below 1e-10, is written with an exponent, as 1.5e+40.

    Raises:
        CalculationError: fewer than 10 digits are certain.
    """
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return format(Decimal(value.numerator), "f")
        decimal = _terminating(value)
        if decimal is not None:
            return _plain(decimal, EXACT_DIGITS)
        value = from_fraction(value)
    if value.is_zero():
        return "0"
    digits = min(SHOWN_DIGITS, value.certain_digits())
    if digits < _FEWEST_DIGITS:
        raise too_vague()
    with localcontext(working(digits)):
        return _plain(+value.middle, digits)


def _terminating(value: Fraction) -> Decimal | None:
    """The decimal of a fraction if it ends within `EXACT_DIGITS` significant digits."""
    rest, twos, fives = value.denominator, 0, 0
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return None
    places = max(twos, fives)
    digits = value.numerator * 2 ** (places - twos) * 5 ** (places - fives)
    if abs(digits) >= 10**EXACT_DIGITS:
        return None
    return Decimal(digits).scaleb(-places)


def _plain(value: Decimal, digits: int) -> str:
    """The text of a number of which so many digits hold: with an exponent where it has more before the point."""
    with localcontext(working(MAX_DIGITS + PRECISION)):
        value = value.normalize()
    if -_LEADING_ZEROS <= value.adjusted() < digits:
        return format(value, "f")
    return format(value, "e")
