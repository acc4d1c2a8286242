"""Tokens to a program in postfix order, by precedence climbing (a Pratt parser).

Precedence and association are Python's
(https://docs.python.org/3/reference/expressions.html#operator-precedence): `+ -` < `* / // %` < signs < `**`,
which is right associative and takes a sign on its right: -2**2 = -4, 2**-1 = 0.5. `^` is `**`. The postfix
`!` (factorial) binds tightest.
"""

from dataclasses import dataclass
from typing import Literal

from .errors import MAX_DEPTH, CalculationError
from .tokens import Token, syntax_error, tokenize

StepKind = Literal["number", "constant", "function", "operator", "sign"]

_BINARY = {"+": 10, "-": 10, "*": 20, "/": 20, "//": 20, "%": 20, "**": 40}
_SIGN = 30
_POSTFIX = 50
_PERCENT = "'%' is the remainder of a division; for 15 percent write 15/100"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program: push a number or constant, or replace the top `count` values by a result."""

    kind: StepKind
    text: str
    count: int
    start: int


def parse(expression: str) -> list[Step]:
    """The program of an expression.

    Raises:
        CalculationError: not an expression, or ambiguous, or nested deeper than `MAX_DEPTH`.
    """
    tokens = tokenize(expression)
    if tokens[0].kind == "end":
        raise CalculationError("the expression is empty")
    return _Parser(tokens).program()


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._steps: list[Step] = []

    def program(self) -> list[Step]:
        self._operand(0)
        token = self._peek()
        if token.kind != "end":
            raise self._misplaced(token)
        return self._steps

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _emit(self, kind: StepKind, token: Token, count: int) -> None:
        self._steps.append(Step(kind, token.text, count, token.start))

    def _operand(self, strength: int) -> None:
        """Read one operand and every operator after it that binds at least as strongly as `strength`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CalculationError(f"the expression is nested more than {MAX_DEPTH} levels deep")
        self._prefix()
        while True:
            operator = self._peek()
            if operator.kind != "symbol":
                break
            if operator.text == "!" and strength <= _POSTFIX:
                self._factorial()
                continue
            binding = _BINARY.get(operator.text)
            if binding is None or binding < strength:
                break
            self._take()
            self._refuse_percent(operator)
            # On its right a power takes further powers (right associative), the rest only what binds tighter.
            self._operand(binding if operator.text == "**" else binding + 1)
            self._emit("operator", operator, 2)
        self._depth -= 1

    def _prefix(self) -> None:
        token = self._take()
        if token.kind == "number":
            self._emit("number", token, 0)
        elif token.kind == "name":
            self._name(token)
        elif token.text in ("+", "-"):
            self._operand(_SIGN)
            self._emit("sign", token, 1)
        elif token.text == "(":
            self._operand(0)
            self._close(token)
        else:
            raise self._expected(token)

    def _name(self, token: Token) -> None:
        if self._peek().text != "(":
            self._emit("constant", token, 0)
            return
        opening = self._take()
        count = 0
        commas: list[int] = []
        if self._peek().text != ")":
            while True:
                self._operand(0)
                count += 1
                if self._peek().text != ",":
                    break
                commas.append(self._next)
                self._take()
        self._close(opening)
        self._refuse_thousands(token, commas)
        self._emit("function", token, count)

    def _close(self, opening: Token) -> None:
        token = self._peek()
        if token.kind == "end":
            raise syntax_error(opening.start, "this '(' is never closed")
        if token.text != ")":
            raise self._misplaced(token)
        self._take()

    def _factorial(self) -> None:
        token = self._take()
        if self._peek().text == "!":
            raise syntax_error(token.start, "'!!' is ambiguous: for the factorial of a factorial write (n!)!")
        self._emit("operator", token, 1)

    def _refuse_percent(self, operator: Token) -> None:
        """Refuse `15% + 3`, which by precedence would be 15 % (+3); `7 % -3` stays the remainder."""
        sign = self._peek()
        if operator.text != "%" or sign.text not in ("+", "-"):
            return
        if not operator.space_before or sign.space_after:
            raise syntax_error(operator.start, f"{_PERCENT}, for a signed divisor write 7 % (-3)")

    def _refuse_thousands(self, name: Token, commas: list[int]) -> None:
        """Refuse arguments that could as well be one number with thousands separators.

        A comma between at most three digits and exactly three looks like one. It is ambiguous where other
        commas of the list have a space after them, and for the functions that mostly get one argument.
        """
        looks = [at for at in commas if self._looks_like_thousands(at)]
        if looks and (name.text in ("log", "round") or any(self._tokens[at].space_after for at in commas)):
            raise syntax_error(
                self._tokens[looks[0]].start,
                "ambiguous comma: write 1234 or 1_234 for one number, and 1, 234 for two arguments",
            )

    def _looks_like_thousands(self, at: int) -> bool:
        left, comma, right = self._tokens[at - 1 : at + 2]
        return (
            not comma.space_after
            and left.kind == right.kind == "number"
            and left.text.isdigit()
            and len(left.text) <= 3
            and len(whole := right.text.partition(".")[0]) == 3
            and whole.isdigit()
        )

    def _expected(self, token: Token) -> CalculationError:
        before = self._tokens[self._next - 2] if self._next > 1 else None
        if before is not None and before.text == "%":
            return syntax_error(before.start, _PERCENT)
        what = token.text if token.kind == "end" else f"'{token.text}'"
        return syntax_error(token.start, f"expected a number, a name or '(', not {what}")

    def _misplaced(self, token: Token) -> CalculationError:
        """The error for a token that stands where an operator (or the end) should."""
        before = self._tokens[self._next - 1]
        earlier = self._tokens[self._next - 2] if self._next > 1 else before
        if earlier.text == "%" and before.kind == "name":
            return syntax_error(earlier.start, _PERCENT)
        if token.text == ",":
            reason = "a comma only separates the arguments of a function; write 1000 or 1_000, not 1,000"
        elif token.text == ")":
            reason = "this ')' closes nothing"
        elif before.kind == "name" and token.kind in ("number", "name"):
            reason = f"put the argument of a function in parentheses: {before.text[:20]}(...)"
        elif before.kind == token.kind == "number":
            reason = "an operator is missing here (write 1000 or 1_000 for a number, without spaces)"
        else:
            reason = "an operator is missing here (write * to multiply)"
        return syntax_error(token.start, reason)
