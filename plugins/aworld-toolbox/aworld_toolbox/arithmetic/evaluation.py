"""Running a program: a stack of numbers, and the meter that bounds the work."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

from . import integers, numbers
from .ball import Ball
from .errors import MAX_DIGITS, MAX_WORK, CalculationError, too_large, too_small
from .functions import CONSTANTS, FUNCTIONS
from .numbers import Number
from .parser import Step

_OPERATORS: dict[str, Callable[[Sequence[Number]], Number]] = {
    "+": lambda a: numbers.add(*a),
    "-": lambda a: numbers.subtract(*a),
    "*": lambda a: numbers.multiply(*a),
    "/": lambda a: numbers.divide(*a),
    "//": lambda a: numbers.floor_divide(*a),
    "%": lambda a: numbers.remainder(*a),
    "**": lambda a: numbers.power(*a),
    "!": integers.factorial,
}
_OTHER_NAMES = {
    "average": "mean", "avg": "mean", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "nthroot": "root", "log_10": "log10", "log_2": "log2", "fabs": "abs",
    "ncr": "comb", "binomial": "comb", "choose": "comb", "npr": "perm", "fact": "factorial", "power": "pow",
    "ceiling": "ceil", "deg": "degrees",
}  # fmt: skip
_POWER_WORK = 700
_ENDLESS = ("inf", "infinity", "nan")


class Meter:
    """Counts the work of one evaluation, in units of about a microsecond."""

    def __init__(self, budget: int = MAX_WORK) -> None:
        self.spent = 0
        self._budget = budget

    def spend(self, units: int) -> None:
        """Count some work.

        Raises:
            CalculationError: the budget is used up.
        """
        self.spent += units
        if self.spent > self._budget:
            raise CalculationError("the expression takes too much work: split it into several calculations")


def run(program: Sequence[Step], meter: Meter) -> Number:
    """The value of a program.

    Raises:
        CalculationError: an unknown name, a wrong number of arguments, an argument outside a function's
            domain, a number out of range, or too much work.
    """
    stack: list[Number] = []
    for step in program:
        if step.kind == "number":
            stack.append(_literal(step.text))
        elif step.kind == "constant":
            stack.append(_constant(step.text))
        else:
            start = len(stack) - step.count
            arguments = stack[start:]
            del stack[start:]
            stack.append(_apply(step, arguments, meter))
        meter.spend(_weight(stack[-1]))
    return stack[-1]


def _apply(step: Step, arguments: list[Number], meter: Meter) -> Number:
    if step.kind == "operator":
        result = _OPERATORS[step.text](arguments)
        meter.spend(_POWER_WORK if step.text == "**" and isinstance(result, Ball) else 0)
        return result
    if step.kind == "sign":
        return arguments[0] if step.text == "+" else numbers.negate(arguments[0])
    function = FUNCTIONS.get(step.text)
    if function is None:
        raise _unknown(step.text)
    if len(arguments) < function.least or (function.most is not None and len(arguments) > function.most):
        raise _miscounted(step.text, len(arguments))
    extra = function.work_of(arguments) if function.work_of else function.work
    meter.spend(extra + sum(map(_weight, arguments)))
    return function.call(arguments)


def _weight(value: Number) -> int:
    """The cost of an operation with such a number: the worst are quadratic in its length."""
    if isinstance(value, Ball):
        return 12
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return 3 + (bits * bits >> 19)


def _literal(text: str) -> Number:
    exponent = text.lower().partition("e")[2]
    if len(exponent.lstrip("+-0")) > len(str(MAX_DIGITS)):
        raise too_small() if exponent.startswith("-") else too_large()
    value = Decimal(text)
    if value and value.adjusted() >= MAX_DIGITS:
        raise too_large(value.adjusted() + 1)
    if value and value.adjusted() < -MAX_DIGITS:
        raise too_small()
    return numbers.exact(Fraction(value))


def _constant(name: str) -> Number:
    if name in CONSTANTS:
        return CONSTANTS[name]()
    if name in FUNCTIONS:
        raise CalculationError(f"{name} is a function: write {name}(...)")
    raise _unknown(name)


def _miscounted(name: str, count: int) -> CalculationError:
    function = FUNCTIONS[name]
    if function.most is None or function.least == function.most:
        expected = f"{function.least}" if function.most else f"at least {function.least}"
    else:
        expected = f"{function.least} or {function.most}"
    hint = "; write 1000 or 1_000, not 1,000" if count > function.least else ""
    plural = "" if expected.endswith("1") else "s"
    return CalculationError(f"{name} takes {expected} argument{plural}, not {count}{hint}")


def _unknown(name: str) -> CalculationError:
    if name in _ENDLESS:
        return CalculationError(f"{name} is not a number that can be calculated with")
    if name in CONSTANTS:
        return CalculationError(f"{name} is a constant, not a function (write * to multiply)")
    shown = name if len(name) <= 30 else name[:27] + "..."
    guess = _OTHER_NAMES.get(name)
    if guess is None and len(name) <= 30:
        from difflib import get_close_matches  # 3 ms to import, and only for a mistake

        guess = next(iter(get_close_matches(name, [*FUNCTIONS, *CONSTANTS], 1)), None)
    return CalculationError(f"unknown name '{shown}'" + (f": did you mean {guess}?" if guess else ""))
