"""Says what is wrong with a value as a person would: what is expected, and what was got.

Pydantic's errors come with the path through its own schema; here they are put where the value stands, those of a
union's members are put together, and a value that may be secret is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from aworld_cli.errors import did_you_mean
from aworld_cli.recipe.leaves import keys_of, options_at
from aworld_cli.recipe.yaml12 import KeyPath

MISSING: Final = "is required and missing"
_LONGEST = 60  # characters of a value that an error shows

#: What pydantic's types of errors expect.
_EXPECTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_sub_type", "string_unicode", "bytes_type"), "text"),
    "path_type": "a path",
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"),
    **dict.fromkeys(("dataclass_type", "dataclass_exact_type", "typed_dict_type"), "a mapping"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), "a list"),
    "none_required": "null",
    **dict.fromkeys(("url_type", "url_parsing", "url_syntax_violation"), "a URL"),
}
_BOUNDS: Final = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}


#: What is said of the value at a key path: None when it may be shown, "" when only its type may.
Veil = Callable[[KeyPath], str | None]


def explain(
    model: type[BaseModel], errors: Iterable[Any], value: Any, veil: Veil, beside: Collection[str] = ()
) -> list[tuple[KeyPath, str]]:
    """Return what pydantic found wrong with `value`, which was given to `model`: key paths below it, and texts.

    Args:
        model: the model that refused it.
        errors: what `ValidationError.errors()` gives.
        value: plain values.
        veil: what is said of a value in its place, by its key path below `value`.
        beside: keys that may stand beside those of the model.
    """
    grouped: dict[KeyPath, list[Any]] = {}
    for item in errors:
        grouped.setdefault(_place(item, value), []).append(item)
    found: list[tuple[KeyPath, str]] = []
    for path, items in grouped.items():
        deeper = any(len(other) > len(path) and other[: len(path)] == path for other in grouped)
        at = _at(value, path)
        if deeper and isinstance(at, dict | list) and all(item["type"] in {*_EXPECTED, "too_short"} for item in items):
            continue  # another member of a union came further, or items are wrong and so left out of the count
        found += [(path, text) for text in dict.fromkeys(_Texts(model, at, veil(path), beside).all(path, items))]
    return found


def expected(what: str, value: Any, veiled: str | None = None) -> str:
    """Return `WHAT is expected, got VALUE`."""
    return f"{what} is expected, got {got(value, veiled)}"


def got(value: Any, veiled: str | None = None) -> str:
    """Return what a value is, and the value itself where it is short and not `veiled` (see `Veil`)."""
    if veiled:
        return veiled
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list | tuple):
        return "a mapping" if isinstance(value, dict) else "a list"
    number, text = isinstance(value, int | float), str(value)
    if veiled is not None or len(text) > _LONGEST or not text.isprintable():
        return "a number" if number else "text"
    return text if number else repr(text)


def _place(item: Any, value: Any) -> KeyPath:
    """Return an error's path as it is in the value: without the names of functions and of a union's members."""
    path: list[str | int] = []
    location = list(item["loc"])
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if holds(value, part):
            value = value[part]
        elif not (last and item["type"] in ("missing", "missing_argument")):
            continue
        path.append(part)
    return tuple(path)


def holds(value: Any, part: str | int) -> bool:
    """Tell whether plain values have something at a key or an index."""
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list | tuple) and isinstance(part, int) and 0 <= part < len(value)


def _at(value: Any, path: KeyPath) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class _Texts:
    """What is said of one value."""

    def __init__(self, model: type[BaseModel], value: Any, veiled: str | None, beside: Collection[str]) -> None:
        self.model = model
        self.value = value
        self.veiled = veiled
        self.beside = beside

    def all(self, path: KeyPath, items: Sequence[Any]) -> list[str]:
        if items[0]["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            known = [key for option in options_at(self.model, path[:-1]) for key in keys_of(option)]
            return [f"unknown key{did_you_mean(str(path[-1]), [*known, *(self.beside if len(path) == 1 else ())])}"]
        wanted = list(dict.fromkeys(what for item in items for what in _wanted(item)))
        others = [self._other(item) for item in items if not _wanted(item)]
        if not wanted or (others and len(items) > 1 and isinstance(self.value, dict | list)):
            return others
        return [expected(" or ".join(wanted), self.value, self.veiled) + self._hint(items, wanted), *others]

    def _hint(self, items: Sequence[Any], wanted: list[str]) -> str:
        if isinstance(self.value, str) and self.veiled is None:
            choices = [
                word
                for item in items
                if item["type"] in ("literal_error", "enum")
                for word in re.findall(r"'([^']*)'", str((item.get("ctx") or {}).get("expected", "")))
            ]
            near = did_you_mean(self.value, choices) if choices else ""
            return near if "did you mean" in near else ""
        if wanted == ["text"] and isinstance(self.value, bool | int | float):
            return "; put it in quotes"
        if wanted == ["a list"] and isinstance(self.value, dict):
            return "; each item of a list starts with `- `"
        return ""

    def _other(self, item: Any) -> str:
        """Return the text of an error that is not of a wrong type."""
        kind, context, shown = item["type"], item.get("ctx") or {}, got(self.value, self.veiled)
        if kind in _BOUNDS:
            words, key = _BOUNDS[kind]
            bound = context[key]
            whole = isinstance(bound, float) and bound.is_integer()
            text = f"must be {words} {int(bound) if whole else bound}, got {shown}"
        elif kind in ("missing", "missing_argument"):
            text = MISSING
        elif kind == "union_tag_not_found":
            text = f"{context['discriminator']} {MISSING}"
        elif kind == "string_pattern_mismatch":
            text = f"must match {context['pattern']}, got {shown}"
        elif kind == "union_tag_invalid":
            text = f"one of {context['expected_tags']} is expected as {context['discriminator']}"
            if self.veiled is None:
                tag = str(context["tag"])
                near = did_you_mean(tag, re.findall(r"'([^']*)'", str(context["expected_tags"])))
                text += f", got {tag!r}{near if 'did you mean' in near else ''}"
        elif kind in ("string_too_short", "too_short", "string_too_long", "too_long"):
            text = _length(kind, context)
        elif str(item["msg"]).startswith("Input should be "):
            text = f"{str(item['msg']).removeprefix('Input should be ')} is expected, got {shown}"
        else:
            text = str(item["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
        return text


def _wanted(item: Any) -> list[str]:
    """Return what an error of a wrong type expects; nothing for others."""
    kind, context = item["type"], item.get("ctx") or {}
    if kind in ("literal_error", "enum"):
        choices = str(context.get("expected", ""))
        return [f"one of {choices}" if " or " in choices else choices]
    if kind == "url_scheme":
        return [f"a URL that starts with {context.get('expected_schemes')}"]
    return [_EXPECTED[kind]] if kind in _EXPECTED else []


def _length(kind: str, context: Mapping[str, Any]) -> str:
    what = "characters" if kind.startswith("string") else "items"
    if kind.endswith("short"):
        least = int(context["min_length"])
        return "must not be empty" if least == 1 else f"must have at least {least} {what}"
    return f"must have at most {context['max_length']} {what}"
