"""The functions and constants of the calculator, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from . import ball, integers, numbers, series
from .ball import Ball
from .errors import MAX_DIGITS, CalculationError, too_large, too_small, too_vague
from .numbers import Number

Implementation = Callable[[Sequence[Number]], Number]

_MAX_EXPONENT = 23_100  # above MAX_DIGITS * ln(10)
_ONE = Decimal(1)


@dataclass(frozen=True, slots=True)
class Function:
    """A function: how many arguments it takes (`most` None: any number), and its extra cost in work units.

    `work_of` gives the cost where it depends on the values.
    """

    call: Implementation
    least: int
    most: int | None
    work: int = 0
    work_of: Callable[[Sequence[Number]], int] | None = None


def _real(
    function: Callable[[Decimal], Decimal],
    *,
    low: int | None = None,
    high: int | None = None,
    inside: str = "",
    bounded: bool = False,
) -> Function:
    """A function of one number through `ball.apply`, with its domain [low, high].

    `inside` is the complaint about other arguments. `bounded` refuses arguments of which the exponential
    is out of range.
    """
    lowest, highest = (None if end is None else Decimal(end) for end in (low, high))

    def call(arguments: Sequence[Number]) -> Number:
        value = numbers.as_ball(arguments[0])
        below = lowest is not None and value.middle + value.radius < lowest
        if below or (highest is not None and value.middle - value.radius > highest):
            raise CalculationError(inside)
        if bounded and value.radius > 1:
            raise too_vague()
        if bounded and abs(value.middle) > _MAX_EXPONENT:
            raise too_small() if function is Decimal.exp and value.middle < 0 else too_large()
        return ball.apply(function, value, lowest, highest)

    return Function(call, 1, 1, 400)


def _angle(function: Callable[[Decimal], Decimal]) -> Function:
    def call(arguments: Sequence[Number]) -> Number:
        value = numbers.as_ball(arguments[0])
        if value.middle.adjusted() >= series.MAX_ANGLE_DIGITS:
            raise CalculationError(f"the angle is too large: 1e{series.MAX_ANGLE_DIGITS} or more")
        if value.radius > Decimal("1e-10"):
            raise too_vague()
        return ball.apply(function, value)

    return Function(call, 1, 1, 400)


def _tan(arguments: Sequence[Number]) -> Number:
    cosine = _COS.call(arguments)
    if numbers.is_zero(cosine):
        raise CalculationError("tan is undefined at odd multiples of pi/2")
    return numbers.divide(_SIN.call(arguments), cosine)


def _root(value: Number, degree: int) -> Number:
    """The real root of integer degree: odd degrees take negative numbers too."""
    if isinstance(value, Fraction):
        if value < 0 and degree % 2:
            return numbers.negate(_root(-value, degree))
        if value < 0:
            raise CalculationError(f"the root of degree {degree} of a negative number is not a real number")
        found = numbers.exact_root(value, degree)
        if found is not None:
            return found
    inexact = numbers.as_ball(value)
    if inexact.middle < 0 and degree % 2:
        return numbers.negate(_root(ball.negate(inexact), degree))
    if inexact.middle + inexact.radius < 0:
        raise CalculationError(f"the root of degree {degree} of a negative number is not a real number")
    if degree == 2:
        return ball.apply(Decimal.sqrt, inexact, Decimal(0))
    return ball.apply(lambda x: x ** (1 / Decimal(degree)), inexact, Decimal(0))


def _sqrt(arguments: Sequence[Number]) -> Number:
    value = arguments[0]
    if numbers.compare(value, Fraction(0)) < 0:
        raise CalculationError("the square root of a negative number is not a real number")
    return _root(value, 2)


def _any_root(arguments: Sequence[Number]) -> Number:
    degree = integers.require("root(x, n)", arguments[1], least=1)
    if degree > MAX_DIGITS:
        raise CalculationError(f"root(x, n) takes n up to {MAX_DIGITS:,}")
    return _root(arguments[0], degree)


def _logarithm(name: str, value: Number, base: Number | None = None) -> Ball:
    if numbers.compare(value, Fraction(0)) <= 0:
        raise CalculationError(f"{name} needs positive numbers")
    inexact = numbers.as_ball(value)
    if base is None:
        return ball.apply(Decimal.ln, inexact)
    if base == 10:
        return ball.apply(Decimal.log10, inexact)
    divisor = _logarithm(name, base)
    if divisor.is_zero():
        raise CalculationError(f"{name} cannot have base 1")
    return ball.divide(_logarithm(name, value), divisor)


def _log(arguments: Sequence[Number]) -> Number:
    return _logarithm("log", *arguments)


def _atan2(arguments: Sequence[Number]) -> Number:
    """The angle of the point (x, y) given as atan2(y, x), in (-pi, pi]; atan2(0, 0) is 0, as in Python."""
    y, x = arguments
    x_sign, y_sign = (numbers.compare(part, Fraction(0)) for part in (x, y))
    if x_sign == 0:
        return numbers.multiply(numbers.divide(_pi(), Fraction(2)), Fraction(y_sign))
    angle = _ATAN.call([numbers.divide(y, x)])
    if x_sign > 0:
        return angle
    return numbers.subtract(angle, _pi()) if y_sign < 0 else numbers.add(angle, _pi())


def _atanh(arguments: Sequence[Number]) -> Number:
    value = arguments[0]
    if numbers.compare(_absolute(value), Fraction(1)) >= 0:
        raise CalculationError("atanh needs a number between -1 and 1")
    return ball.apply(series.atanh, numbers.as_ball(value))


def _pi() -> Ball:
    return ball.make(+series.pi(), Decimal(0))


def _e() -> Ball:
    return ball.make(_ONE.exp(), Decimal(0))


def _scaled(numerator: Number | None, denominator: Number | None) -> Implementation:
    """Multiplication by a ratio in which None stands for pi."""

    def call(arguments: Sequence[Number]) -> Number:
        top, bottom = (_pi() if part is None else part for part in (numerator, denominator))
        return numbers.divide(numbers.multiply(arguments[0], top), bottom)

    return call


def _absolute(value: Number) -> Number:
    return numbers.negate(value) if numbers.compare(value, Fraction(0)) < 0 else value


def _ceil(value: Number) -> int:
    return -numbers.floor(numbers.negate(value))


def _round(arguments: Sequence[Number]) -> Number:
    """Rounding to n decimals (negative n: to tens, hundreds, ...), halves away from zero."""
    places = integers.require("round(x, n)", arguments[1]) if len(arguments) > 1 else 0
    if abs(places) > MAX_DIGITS:
        raise CalculationError(f"round(x, n) takes n from -{MAX_DIGITS:,} to {MAX_DIGITS:,}")
    value = arguments[0]
    scale = Fraction(10) ** places
    shifted = numbers.add(_scale(_absolute(value), scale), Fraction(1, 2))
    size = Fraction(numbers.floor(shifted)) / scale
    return numbers.exact(-size if numbers.compare(value, Fraction(0)) < 0 else size)


def _scale(value: Number, scale: Fraction) -> Number:
    return value * scale if isinstance(value, Fraction) else numbers.multiply(value, scale)


def _extreme(sign: int) -> Implementation:
    def call(arguments: Sequence[Number]) -> Number:
        best = arguments[0]
        for value in arguments[1:]:
            if numbers.compare(value, best) == sign:
                best = value
        return best

    return call


def _sum(arguments: Sequence[Number]) -> Number:
    total: Number = Fraction(0)
    for value in arguments:
        total = numbers.add(total, value)
    return total


def _mean(arguments: Sequence[Number]) -> Number:
    return numbers.divide(_sum(arguments), Fraction(len(arguments)))


def _hypot(arguments: Sequence[Number]) -> Number:
    return _root(_sum([numbers.multiply(value, value) for value in arguments]), 2)


_SIN, _COS, _ATAN = _angle(series.sin), _angle(series.cos), _real(series.atan)

FUNCTIONS: dict[str, Function] = {
    "sqrt": Function(_sqrt, 1, 1, 100),
    "cbrt": Function(lambda a: _root(a[0], 3), 1, 1, 800),
    "root": Function(_any_root, 2, 2, 800),
    "pow": Function(lambda a: numbers.power(*a), 2, 2, 700),
    "mod": Function(lambda a: numbers.remainder(*a), 2, 2),
    "abs": Function(lambda a: _absolute(a[0]), 1, 1),
    "round": Function(_round, 1, 2),
    "floor": Function(lambda a: Fraction(numbers.floor(a[0])), 1, 1),
    "ceil": Function(lambda a: Fraction(_ceil(a[0])), 1, 1),
    "exp": _real(Decimal.exp, bounded=True),
    "ln": Function(lambda a: _logarithm("ln", a[0]), 1, 1, 400),
    "log": Function(_log, 1, 2, 800),
    "log10": Function(lambda a: _logarithm("log10", a[0], Fraction(10)), 1, 1, 400),
    "log2": Function(lambda a: _logarithm("log2", a[0], Fraction(2)), 1, 1, 800),
    "sin": _SIN,
    "cos": _COS,
    "tan": Function(_tan, 1, 1, 800),
    "asin": _real(series.asin, low=-1, high=1, inside="asin needs a number from -1 to 1"),
    "acos": _real(series.acos, low=-1, high=1, inside="acos needs a number from -1 to 1"),
    "atan": _ATAN,
    "atan2": Function(_atan2, 2, 2, 400),
    "sinh": _real(series.sinh, bounded=True),
    "cosh": _real(series.cosh, bounded=True),
    "tanh": _real(series.tanh),
    "asinh": _real(series.asinh),
    "acosh": _real(series.acosh, low=1, inside="acosh needs a number of at least 1"),
    "atanh": Function(_atanh, 1, 1, 400),
    "degrees": Function(_scaled(Fraction(180), None), 1, 1),
    "radians": Function(_scaled(None, Fraction(180)), 1, 1),
    "factorial": Function(integers.factorial, 1, 1),
    "comb": Function(integers.comb, 2, 2, work_of=integers.comb_work),
    "perm": Function(integers.perm, 2, 2),
    "gcd": Function(integers.gcd, 1, None),
    "lcm": Function(integers.lcm, 1, None),
    "min": Function(_extreme(-1), 1, None),
    "max": Function(_extreme(1), 1, None),
    "sum": Function(_sum, 1, None),
    "mean": Function(_mean, 1, None),
    "hypot": Function(_hypot, 1, None, 100),
}

CONSTANTS: dict[str, Callable[[], Number]] = {
    "pi": _pi,
    "e": _e,
    "tau": lambda: ball.multiply(_pi(), Ball(Decimal(2), Decimal(0))),
}
