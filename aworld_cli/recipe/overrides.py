"""Changes of single values: `--set key.path=value` and `AWORLD_RECIPE__KEY__PATH=value`.

Values are YAML. An error names the key alone: a value may be secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aworld_cli.errors import RecipeError, UsageError, did_you_mean
from aworld_cli.recipe.components import is_component, kind_of
from aworld_cli.recipe.document import Document, KeyPath, Place, parse_value
from aworld_cli.recipe.yaml12 import MAX_DEPTH
from aworld_cli.settings.variables import RECIPE_PREFIX


def apply_overrides(document: Document, settings: Sequence[str]) -> None:
    """Change `document` in place as each `key.path=value` of `settings` says.

    A stage is named by its index, its kind or its `name` (`stages.train.steps=2`). Another `kind` for a component drops
    the options that the recipe has for the one before.

    Raises:
        UsageError: a setting has no `=`, its value is not YAML, or its path leads nowhere; a line each.
    """
    _apply(document, [_Override.of_setting(setting) for setting in settings])


def apply_variables(document: Document, environ: Mapping[str, str]) -> None:
    """Change `document` in place as the variables `AWORLD_RECIPE__KEY__PATH` say.

    Upper and lower case are the same, `_` also stands for `-`, and a variable that is empty counts as not set.

    Raises:
        UsageError: a value is not YAML, or a path leads nowhere; a line each.
    """
    names = [name for name in environ if name.upper().startswith(RECIPE_PREFIX) and environ[name]]
    parts = {name: tuple(name[len(RECIPE_PREFIX) :].lower().split("__")) for name in names}
    twice = [name for name in names if list(parts.values()).count(parts[name]) > 1]
    if twice:
        raise UsageError(f"the variables {' and '.join(sorted(twice))} say the same key; unset all but one")
    ordered = sorted(names, key=lambda name: (len(parts[name]), name))  # what holds others first
    _apply(document, [_Override.of_variable(name, parts[name], environ[name]) for name in ordered])


class _Override:
    """One value and the path that it goes to; `fault` where it cannot be read."""

    def __init__(self, parts: Sequence[str], text: str, place: Place, *, loose: bool, fault: str = "") -> None:
        self.parts = parts
        self.text = text
        self.place = place
        self.loose = loose
        self.fault = fault

    @classmethod
    def of_setting(cls, setting: str) -> _Override:
        key, separator, text = setting.partition("=")
        parts = [part.strip() for part in key.split(".")]
        fault = ""
        if not separator:
            fault = "--set takes key.path=value; there is one without `=`"
        elif not all(parts):
            fault = f"--set {key.strip()}: write it as key.path=value"
        elif len(parts) > MAX_DEPTH:
            fault = f"--set {key.strip()[:20]}...: a path of more than {MAX_DEPTH} keys"
        return cls(parts, text, Place(f"--set {'.'.join(parts)}", layer="flag"), loose=False, fault=fault)

    @classmethod
    def of_variable(cls, name: str, parts: Sequence[str], text: str) -> _Override:
        fault = "" if all(parts) else f"{name}: write it as {RECIPE_PREFIX}KEY__PATH, two underscores between keys"
        if len(parts) > MAX_DEPTH:
            fault = f"{name[:40]}...: a path of more than {MAX_DEPTH} keys"
        return cls(parts, text, Place(name, layer="variable"), loose=True, fault=fault)

    def apply(self, document: Document) -> None:
        if self.fault:
            raise UsageError(self.fault)
        if self.parts[0] == "extends":
            raise UsageError(f"{self.place}: `extends` is read from the recipe file alone")
        try:
            value = parse_value(self.text, str(self.place)).value
        except RecipeError:  # its text may hold a part of the value
            cause = "the value is not valid YAML (text with special characters goes in quotes)"
            raise UsageError(f"{self.place}: {cause}") from None
        self._assign(document, value)

    def _assign(self, document: Document, value: Any) -> None:
        target: Any = document.value
        path: KeyPath = ()
        for index, part in enumerate(self.parts):
            if len(path) == 2 and path[0] == "stages" and isinstance(path[1], int):
                target, path = self._into_stage(target, path, part)
            where = f"{self.place}: {'.'.join(self.parts[:index])}"
            step = _step(target, part, where, loose=self.loose)
            if index == len(self.parts) - 1:
                if step == "kind" and is_component(path) and kind_of(path, target) not in (None, value):
                    self._drop_options(document, target, path)
                target[step] = value
                document.replaced((*path, step), self.place)
            elif isinstance(target, dict) and target.get(step) is None:
                target[step] = {}
                document.replaced((*path, step), self.place)
            target, path = target[step], (*path, step)

    def _into_stage(self, stage: Any, path: KeyPath, part: str) -> tuple[Any, KeyPath]:
        """Go on to the settings of a stage, which stand below its kind, unless the kind itself is named."""
        if not isinstance(stage, dict) or len(stage) != 1:
            return stage, path
        kind = next(iter(stage))
        if part == kind or (self.loose and _same(part, kind)):
            return stage, path
        if stage[kind] is None:
            stage[kind] = {}
        return stage[kind], (*path, kind)

    def _drop_options(self, document: Document, component: dict[str, Any], path: KeyPath) -> None:
        """Drop the options of another kind; those that this layer itself sets stay."""
        for key in [key for key in component if document.place((*path, key)).layer != self.place.layer]:
            del component[key]
            document.forget((*path, key))


def _apply(document: Document, overrides: Iterable[_Override]) -> None:
    wrong: list[str] = []
    for override in overrides:
        try:
            override.apply(document)
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(dict.fromkeys(wrong)))


def _same(part: str, key: str) -> bool:
    """Tell whether a part of a variable's name means a key."""
    return part.lower() == key.lower().replace("-", "_")


def _step(target: Any, part: str, where: str, *, loose: bool) -> str | int:
    """Return the key or the index that `part` means in `target`."""
    if isinstance(target, dict):
        return _key(target, part, where) if loose else part
    if not isinstance(target, list):
        raise UsageError(f"{where} is a plain value, it has no {part!r}")
    if part.isascii() and part.isdecimal() and len(part) < 10 and int(part) < len(target):
        return int(part)
    called = [_names(item) for item in target]
    for own in (0, 1):  # by its own name, else by its kind
        found = [at for at, names in enumerate(called) if (_same(part, names[own]) if loose else part == names[own])]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{where} has {len(found)} items {part!r}; say which by its index, from 0, or its `name`")
    near = did_you_mean(part, [name for names in called for name in names if name])
    raise UsageError(f"{where} has no item {part!r}; it is a list of {len(target)}{near}")


def _names(item: Any) -> tuple[str, str]:
    """Return the own name and the kind of a stage or a component of a list; "" where it has none."""
    if not isinstance(item, dict):
        return "", ""
    kind, body = item.get("kind"), item
    if len(item) == 1 and "kind" not in item:
        kind, body = next(iter(item.items()))
    own = body.get("name") if isinstance(body, dict) else None
    return own if isinstance(own, str) else "", kind if isinstance(kind, str) else ""


def _key(target: dict[str, Any], part: str, where: str) -> str:
    found = [key for key in target if _same(part, key)]
    if len(found) > 1:
        raise UsageError(f"{where} has the keys {' and '.join(found)}, which a variable cannot tell apart; use --set")
    return found[0] if found else part
