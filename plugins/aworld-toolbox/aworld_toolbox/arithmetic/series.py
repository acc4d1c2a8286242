"""Elementary functions of decimals that Python's `decimal` lacks, to the precision of the current context.

Each expects some digits to spare: `ball.apply` gives 70. Arguments this small make every odd function here
equal to its argument to 100 digits, which `_TINY` uses where a closed form would cancel.
"""

from collections.abc import Callable
from decimal import Decimal, getcontext, localcontext
from functools import lru_cache

_ONE = Decimal(1)
_TINY = -51  # that is, |x| < 1e-50: x**3/6 is below 1e-100 * x
MAX_ANGLE_DIGITS = 100


@lru_cache(maxsize=1)
def pi() -> Decimal:
    """Pi to 320 digits, by Machin's formula 16 atan(1/5) - 4 atan(1/239)."""
    unit = 10**330

    def inverse_tangent(x: int) -> int:
        term = total = unit // x
        divisor, sign = 1, 1
        while term:
            term //= x * x
            divisor, sign = divisor + 2, -sign
            total += sign * (term // divisor)
        return total

    digits = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return Decimal(digits // 10**10).scaleb(-320)


def _reduced(angle: Decimal) -> tuple[Decimal, int]:
    """The angle, below 10**MAX_ANGLE_DIGITS, minus the nearest multiple k of pi/2, and k modulo 4."""
    with localcontext() as context:
        context.prec += max(0, angle.adjusted()) + 5
        quarter = +pi() / 2
        turns = (angle / quarter).to_integral_value()
        return angle - turns * quarter, int(turns) % 4


def _sine(angle: Decimal) -> Decimal:
    """Taylor series of the sine, for |angle| <= pi/4."""
    total = term = angle
    square, step = angle * angle, 1
    limit = term.adjusted() - getcontext().prec - 1
    while term and term.adjusted() > limit:
        step += 2
        term = -term * square / (step * (step - 1))
        total += term
    return total


def sin(angle: Decimal) -> Decimal:
    """Sine of an angle in radians."""
    rest, quarter = _reduced(angle)
    sine = _sine(rest)
    if quarter % 2:
        sine = (_ONE - sine * sine).sqrt()
    return -sine if quarter >= 2 else sine


def cos(angle: Decimal) -> Decimal:
    """Cosine of an angle in radians."""
    rest, quarter = _reduced(angle)
    sine = _sine(rest)
    cosine = sine if quarter % 2 else (_ONE - sine * sine).sqrt()
    return -cosine if quarter in (1, 2) else cosine


def atan(x: Decimal) -> Decimal:
    """Inverse tangent: halved three times by atan(x) = 2 atan(x / (1 + sqrt(1 + x**2))), then the series."""
    if abs(x) > 1:
        return (pi() / 2).copy_sign(x) - atan(_ONE / x)
    for _ in range(3):
        x = x / (_ONE + (_ONE + x * x).sqrt())
    total, factor, square, step = x, x, x * x, 1
    limit = x.adjusted() - getcontext().prec - 1
    while factor and factor.adjusted() > limit:
        step += 2
        factor = -factor * square
        total += factor / step
    return 8 * total


def asin(x: Decimal) -> Decimal:
    """Inverse sine on [-1, 1]."""
    return (pi() / 2).copy_sign(x) if abs(x) == 1 else atan(x / ((_ONE - x) * (_ONE + x)).sqrt())


def acos(x: Decimal) -> Decimal:
    """Inverse cosine on [-1, 1], by 2 atan(sqrt((1 - x) / (1 + x)))."""
    return +pi() if x == -1 else 2 * atan(((_ONE - x) / (_ONE + x)).sqrt())


def _odd(function: Callable[[Decimal], Decimal]) -> Callable[[Decimal], Decimal]:
    """An odd function with slope 1 at 0: the argument itself where the closed form would cancel."""
    return lambda x: x if not x or x.adjusted() < _TINY else function(x)


def _tanh(x: Decimal) -> Decimal:
    return _ONE.copy_sign(x) if abs(x) > 400 else _ONE - 2 / ((2 * x).exp() + 1)


def cosh(x: Decimal) -> Decimal:
    """Hyperbolic cosine."""
    return (x.exp() + (-x).exp()) / 2


def acosh(x: Decimal) -> Decimal:
    """Inverse hyperbolic cosine on [1, ...)."""
    return (x + ((x - 1) * (x + 1)).sqrt()).ln()


sinh = _odd(lambda x: (x.exp() - (-x).exp()) / 2)
tanh = _odd(_tanh)
asinh = _odd(lambda x: (abs(x) + (x * x + 1).sqrt()).ln().copy_sign(x))
atanh = _odd(lambda x: ((_ONE + x) / (_ONE - x)).ln() / 2)
