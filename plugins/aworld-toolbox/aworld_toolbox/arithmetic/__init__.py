"""The calculator's arithmetic: text in, exact number out, with bounded work.

`evaluate` is the whole of it. No part of an expression is ever run as Python code.
"""

from decimal import localcontext

from .ball import working
from .display import show
from .errors import MAX_DIGITS, MAX_EXPRESSION, CalculationError
from .evaluation import Meter, run
from .parser import parse

__all__ = ["MAX_DIGITS", "MAX_EXPRESSION", "CalculationError", "evaluate"]

_CONTEXT = working()


def evaluate(expression: str) -> str:
    """The result of an arithmetic expression, as text.

    Exact for integers and fractions (0.1+0.2 is 0.3, 1/3*3 is 1); roots and transcendental functions are
    calculated with 100 digits and shown with up to 30. See the plugin's README for the language and limits.

    Raises:
        CalculationError: there is no result; its one line says why. No other exception escapes, and no
            expression costs more than some 50 ms.
    """
    try:
        with localcontext(_CONTEXT):
            return show(run(parse(expression), Meter()))
    except (ArithmeticError, RecursionError) as error:  # a net; the tests keep it empty
        raise CalculationError(f"the calculation failed ({type(error).__name__})") from error
