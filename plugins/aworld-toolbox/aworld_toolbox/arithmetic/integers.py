"""Functions of whole numbers. Results that would be too long are refused from an estimate of their size."""

import math
from collections.abc import Sequence
from fractions import Fraction

from . import numbers
from .errors import MAX_BITS, MAX_DIGITS, CalculationError, too_large
from .numbers import Number

_EXACT_FLOAT = 2**53


def require(function: str, value: Number, least: int | None = None) -> int:
    """The value as a whole number of at least `least`.

    Raises:
        CalculationError: it is not whole, or too small.
    """
    whole = numbers.as_integer(value)
    if whole is None:
        raise CalculationError(f"{function} needs a whole number")
    if least is not None and whole < least:
        raise CalculationError(f"{function} needs a whole number of at least {least}")
    return whole


def _refuse_long(bits: float) -> None:
    if bits > MAX_BITS + 1:
        raise too_large(int(bits * math.log10(2)) + 1)


def _log2_factorial(n: int) -> float:
    return math.lgamma(n + 1) / math.log(2)


def factorial(arguments: Sequence[Number]) -> Number:
    """n! for a whole n >= 0."""
    n = require("factorial(n)", arguments[0], 0)
    if n > MAX_DIGITS:
        raise too_large(int(_log2_factorial(n) * math.log10(2)) + 1 if n < _EXACT_FLOAT else None)
    _refuse_long(_log2_factorial(n))
    return numbers.exact(Fraction(math.factorial(n)))


def comb(arguments: Sequence[Number]) -> Number:
    """Ways to choose k of n, without order: n! / (k! (n - k)!); 0 if k > n, as in Python."""
    n, k = require("comb(n, k)", arguments[0], 0), require("comb(n, k)", arguments[1], 0)
    if k > n:
        return Fraction(0)
    k = min(k, n - k)
    if n < _EXACT_FLOAT:
        _refuse_long(_log2_factorial(n) - _log2_factorial(k) - _log2_factorial(n - k))
    elif k:
        _refuse_long(k * (math.log2(n) - math.log2(k)))
    return numbers.exact(Fraction(math.comb(n, k)))


def comb_work(arguments: Sequence[Number]) -> int:
    """The cost of `comb`: about a microsecond for each factor, of which there are at most `MAX_BITS`."""
    n, k = require("comb(n, k)", arguments[0], 0), require("comb(n, k)", arguments[1], 0)
    return min(max(min(k, n - k), 0), MAX_BITS)


def perm(arguments: Sequence[Number]) -> Number:
    """Ways to choose k of n, in order: n! / (n - k)!; 0 if k > n, as in Python."""
    n, k = require("perm(n, k)", arguments[0], 0), require("perm(n, k)", arguments[1], 0)
    if k > n:
        return Fraction(0)
    if n < _EXACT_FLOAT:
        _refuse_long(_log2_factorial(n) - _log2_factorial(n - k))
    elif k > MAX_BITS:
        raise too_large()
    else:
        _refuse_long(k * math.log2(n - k + 1))
    return numbers.exact(Fraction(math.perm(n, k)))


def gcd(arguments: Sequence[Number]) -> Number:
    """Greatest common divisor, never negative."""
    return Fraction(math.gcd(*(require("gcd", value) for value in arguments)))


def lcm(arguments: Sequence[Number]) -> Number:
    """Least common multiple, never negative."""
    total: Number = Fraction(1)
    for value in arguments:
        total = numbers.exact(Fraction(math.lcm(require("lcm", total), require("lcm", value))))
    return total
