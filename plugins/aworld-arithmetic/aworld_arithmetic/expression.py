"""The expressions that tasks are made of: drawn, written, read back, and worked out."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

Operation = Literal["+", "-", "*"]

_COMPUTE: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_EXPRESSION: Final = re.compile(r"(?<!\d)(\d+)\s*([-+*])\s*(\d+)\s*=", re.ASCII)
_SHUFFLED: Final = 100_000  # spaces up to this size are shuffled whole, larger ones drawn from


def find_expression(text: str) -> str | None:
    """Return the last expression in `text` that an equals sign follows, without spaces: `347 + 581 =` is `347+581`."""
    found = list(_EXPRESSION.finditer(text))
    return "".join(found[-1].groups()) if found else None


def compute(expression: str) -> int:
    """Return the value of an expression as `expressions` writes it.

    Raises:
        ValueError: it is not one operation on two non-negative integers.
    """
    match = re.fullmatch(r"(\d+)([-+*])(\d+)", expression, re.ASCII)
    if match is None:
        raise ValueError(f"{expression!r} is not one operation on two integers")
    return _COMPUTE[match[2]](int(match[1]), int(match[3]))


def held_out(expression: str) -> bool:
    """Return whether an expression is for testing only: one in eight is, by the CRC-32 of its text."""
    return zlib.crc32(expression.encode()) % 8 == 0


def expressions(digits: int, operations: Sequence[Operation]) -> Iterator[str]:
    """Yield every expression once, in a pseudo-random order that is the same on every machine.

    Operands have exactly `digits` digits (0 to 9 when `digits` is 1).
    """
    low = 10 ** (digits - 1) if digits > 1 else 0
    span = 10**digits - low
    for index in _scattered(len(operations) * span * span):
        rest, right = divmod(index, span)
        which, left = divmod(rest, span)
        yield f"{low + left}{operations[which]}{low + right}"


def _scattered(size: int) -> Iterator[int]:
    """Yield the integers below `size` in a fixed pseudo-random order, without holding them all where they are many."""
    source = random.Random(f"aworld-arithmetic 1 {size}")
    if size <= _SHUFFLED:
        order = list(range(size))
        source.shuffle(order)
        yield from order
        return
    seen: set[int] = set()
    while len(seen) < size:
        index = source.randrange(size)
        if index not in seen:
            seen.add(index)
            yield index
