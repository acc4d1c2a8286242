"""The one error of the calculator, and the bounds on its work.

Invariant: no expression, however hostile, costs more than these bounds. Sizes are refused from an
estimate, before the work is done; the sum of all steps is metered (see `evaluation`).
"""

MAX_EXPRESSION = 10_000
"""Longest expression, in characters."""

MAX_DEPTH = 100
"""Deepest nesting of parentheses, signs and powers."""

MAX_DIGITS = 10_000
"""Largest magnitude: below 10**MAX_DIGITS, and (unless 0) at least 10**-MAX_DIGITS."""

MAX_BITS = 33_220
"""Bits of the largest integer, 10**MAX_DIGITS - 1."""

MAX_DENOMINATOR_BITS = 4_096
"""A fraction with a longer denominator goes on as a decimal of `PRECISION` digits."""

MAX_WORK = 32_000
"""Budget of one evaluation, in units of about a microsecond."""

PRECISION = 100
"""Digits carried for numbers that are not kept as exact fractions."""

SHOWN_DIGITS = 30
"""Significant digits shown of a number whose decimal expansion is rounded."""

EXACT_DIGITS = 50
"""A terminating decimal is shown in full up to so many significant digits."""


class CalculationError(ValueError):
    """An expression has no result here; the text says why in one line fit for the user."""


def too_large(digits: int | None = None) -> CalculationError:
    """The error for a result beyond `MAX_DIGITS`, naming its size where that is known."""
    about = f" (about {digits:,})" if digits is not None and 1.1 * MAX_DIGITS < digits < 10**15 else ""
    return CalculationError(f"the result would have more than {MAX_DIGITS:,} digits{about}")


def too_small() -> CalculationError:
    """The error for a non-zero result below 10**-MAX_DIGITS."""
    return CalculationError(f"the result is too small: nearer to 0 than 1e-{MAX_DIGITS}")


def too_vague() -> CalculationError:
    """The error for a result of which too few digits are certain."""
    return CalculationError("too many digits cancel out here: the result would not be reliable")
