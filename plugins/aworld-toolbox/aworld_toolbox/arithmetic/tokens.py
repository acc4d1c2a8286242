"""Text to tokens: numbers, names and symbols, each with its place.

Only ASCII digits and letters count, plus the few signs that have one meaning everywhere (× · ÷ − π τ).
What a reader could take in two ways is refused with the two ways named.
"""

import re
from dataclasses import dataclass
from typing import Literal

from .errors import MAX_EXPRESSION, CalculationError

Kind = Literal["number", "name", "symbol", "end"]

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>(?:math\.)?[A-Za-z_][A-Za-z0-9_]*|[πτ])"
    r"|(?P<symbol>\*\*|//|[-+*/%^(),!×·⋅÷−])"
)
_SPACE = re.compile(r"[ \t\r\n\u00a0]*")
_SAME = {"^": "**", "×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "π": "pi", "τ": "tau"}
_HINTS = {
    "=": "leave out '=': give only the expression to calculate",
    "<": "comparisons are not supported",
    ">": "comparisons are not supported",
    "$": "leave out currency signs",
    "€": "leave out currency signs",
    "£": "leave out currency signs",
    "°": "angles are in radians: write radians(30) for 30 degrees",
    "√": "write sqrt(...)",
    "²": "write ^2",
    "³": "write ^3",
    "∞": "infinity is not a number here",
    "–": "write '-' for minus",
    "—": "write '-' for minus",
    "[": "use round parentheses; list the values as arguments, as in sum(1, 2, 3)",
    "{": "use round parentheses",
    ";": "give one expression",
    "&": "bitwise operators are not supported",
    "|": "bitwise operators are not supported; write abs(x)",
    "~": "bitwise operators are not supported",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its canonical text, its 0-based place, and whether white space stands on either side."""

    kind: Kind
    text: str
    start: int
    space_before: bool
    space_after: bool


def syntax_error(start: int, reason: str) -> CalculationError:
    """A syntax error at 0-based place `start`, told to the user as the 1-based character."""
    return CalculationError(f"syntax error at character {start + 1}: {reason}")


def tokenize(expression: str) -> list[Token]:
    """Split an expression; the last token is always the "end".

    Raises:
        CalculationError: it is longer than `MAX_EXPRESSION`, or a character or number is not understood.
    """
    if len(expression) > MAX_EXPRESSION:
        raise CalculationError(
            f"the expression has {len(expression):,} characters; at most {MAX_EXPRESSION:,} are allowed"
        )
    tokens: list[Token] = []
    place, spaced = _skip_space(expression, 0)
    while place < len(expression):
        match = _TOKEN.match(expression, place)
        if match is None:
            raise syntax_error(place, _complaint(expression[place]))
        end, space_after = _skip_space(expression, match.end())
        kind: Kind = "number" if match["number"] else "name" if match["name"] else "symbol"
        text = _canonical(match.group(), kind)
        if kind == "number":
            _check_number(expression, match)
        tokens.append(Token(kind, text, place, spaced, space_after))
        place, spaced = end, space_after
    tokens.append(Token("end", "the end", len(expression), spaced, False))
    return tokens


def _skip_space(expression: str, place: int) -> tuple[int, bool]:
    match = _SPACE.match(expression, place)
    end = match.end() if match else place
    return end, end > place


def _canonical(text: str, kind: Kind) -> str:
    text = _SAME.get(text, text)
    if kind == "name":
        return text.lower().removeprefix("math.")
    return text.replace("_", "") if kind == "number" else text


def _check_number(expression: str, match: re.Match[str]) -> None:
    """Refuse what goes on where a number should have ended, and leading zeros."""
    text, start, end = match.group(), match.start(), match.end()
    following = expression[end : end + 1]
    if re.match(r"0[0-9_]", text):
        raise syntax_error(
            start, "a number may not start with 0 (commas separate arguments: write 1000 or 1_000, not 1,000)"
        )
    if following == "_":
        raise syntax_error(end, "'_' may stand only between two digits of a number")
    if following == "." or (following in "0123456789" and following):
        raise syntax_error(end, "a number has one decimal point, '.'")
    if following in ("e", "E") and not re.match(r"[A-Za-z]", expression[end + 1 : end + 2]):
        raise syntax_error(end, "an exponent needs digits, as in 1e3 (for a multiple of e write 2*e)")
    if text == "0" and following in ("x", "X", "b", "B", "o", "O"):
        raise syntax_error(start, "only decimal numbers are supported")


def _complaint(character: str) -> str:
    if character in _HINTS:
        return _HINTS[character]
    if character == ".":
        return "a decimal point needs a digit beside it"
    return f"unexpected character {character!r}" if character.isprintable() else f"unexpected {character!a}"
