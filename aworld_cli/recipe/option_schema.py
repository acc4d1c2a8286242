"""From a pydantic model to the JSON Schema of what a recipe may write for it.

A recipe may say more than the model's own schema does: `${env:NAME}` wherever a scalar stands, numbers and switches in
quotes (pydantic reads them, since a variable's value is text); and less: a secret only as a reference. Invariant: what
this schema refuses, `aworld validate` refuses too; the converse holds for all that JSON Schema can express.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from aworld_cli.recipe.secrets import BY_NAME, LITERAL, SECRET_NAME, SECRET_TEXT

Schema = dict[str, Any]

_PLAIN = r"(?:(?!\$\{env:)[\s\S])*"
_REFERENCE = r"\$\{env:[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}"  # somewhere in the text
_SECRET = rf"^$|^{_PLAIN}(?:\$\{{env:[A-Za-z_][A-Za-z0-9_]*(?::-)?\}}{_PLAIN})+$"  # none of them has a default
_INTEGER = r"^\s*[-+]?[0-9]+(?:_[0-9]+)*(?:\.0+)?\s*$"
_NUMBER = r"^\s*[-+]?(?:[0-9_]+\.?[0-9_]*|\.[0-9_]+)(?:[eE]_*[-+]?[0-9_]+)?\s*$|^\s*[-+]?(?:[iI][nN][fF]|[nN][aA][nN])"
_SWITCH = "^(?:[01tfynTFYN]|[oO][nN]|[oO][fF][fF]|[yY][eE][sS]|[nN][oO]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$"


def _said(pattern: str, wanted: str) -> Schema:
    return {"pattern": pattern, "patternErrorMessage": wanted}  # the second is for editors


#: Definitions that `option_schema` refers to; no class is called so, for their hyphens.
SHARED: Final[dict[str, Schema]] = {
    "env-reference": {
        "type": "string",
        "description": "Taken from the environment: ${env:NAME}, or ${env:NAME:-default}.",
        **_said(_REFERENCE, "not one of the choices, nor ${env:NAME}"),
    },
    "secret-reference": {"type": ["string", "null"], **_said(_SECRET, LITERAL)},
    "whole-number": _said(f"{_INTEGER}|{_REFERENCE}", "a whole number or ${env:NAME} is wanted"),
    "any-number": _said(f"{_NUMBER}|{_REFERENCE}", "a number or ${env:NAME} is wanted"),
    "on-off": _said(f"{_SWITCH}|{_REFERENCE}", "true, false or ${env:NAME} is wanted"),
}
_SHORTEST: Final = len("${env:X}")
_NOTES = ("description", "markdownDescription", "default", "examples", "deprecated")

_MAPPINGS = ("properties", "patternProperties", "$defs")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "contains")


class _Generator(GenerateJsonSchema):
    """Pydantic's generator; a type that JSON Schema has no word for is anything, not a failure."""

    ignored_warning_kinds: ClassVar[set[JsonSchemaWarningKind]] = {  # type: ignore[misc]
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        return {}


def option_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of what a recipe may write for `model`, its nested models below `$defs`.

    Raises:
        Exception: whatever the model's own code raises when pydantic asks it.
    """
    made = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    root = made.get("$ref", "").rpartition("/")[2]
    if root:  # it contains itself, so pydantic names it
        made = {**made["$defs"][root], "$defs": made["$defs"]}
    widened: Schema = _widen(made)
    return widened


def rename_references(node: Any, names: Mapping[str, str]) -> Any:
    """Return a schema in which each reference to a definition of `names` is to what the name is there."""
    if isinstance(node, list):
        return [rename_references(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    renamed = {key: rename_references(value, names) for key, value in node.items()}
    name = str(node.get("$ref")).removeprefix("#/$defs/")
    return {**renamed, "$ref": f"#/$defs/{names[name]}"} if name in names else renamed


def _widen(node: Any) -> Any:
    """Return a schema that also takes what a recipe may write where its values stand; below `not` nothing changes."""
    if not isinstance(node, dict):
        return node  # True or False
    new: Schema = {key: value for key, value in node.items() if key not in ("title", "discriminator", "uniqueItems")}
    for key in _MAPPINGS:
        if isinstance(new.get(key), Mapping):
            new[key] = {name: _widen(item) for name, item in new[key].items()}
    for key in _LISTS:
        if isinstance(new.get(key), list):
            new[key] = [_widen(item) for item in new[key]]
    for key in _SINGLE:
        if key in new:
            new[key] = _widen(new[key])
    if "oneOf" in new and "anyOf" not in new:
        new["anyOf"] = new.pop("oneOf")  # what a discriminator told apart may both take a text now
    if new.get("default") is None or not _is_json(new["default"]) or new.get("writeOnly"):
        new.pop("default", None)  # yaml-language-server completes nothing where the default of a text is null
    if "description" in new:
        new |= _markdown(new)
    return _by_name(_choice(_scalar(new)))


def _scalar(node: Schema) -> Schema:
    """Widen a schema of one scalar."""
    if node.get("writeOnly"):
        return {"type": "string", **_refer("secret-reference"), **_kept(node, *_NOTES, BY_NAME)}
    if "enum" in node or "const" in node:
        words = node.get("enum", [node.get("const")])
        return _or_reference(node) if any(isinstance(word, str) for word in words) else node
    if node.get("type") == "integer":
        return {**node, "type": ["integer", "string"], **_refer("whole-number")}
    if node.get("type") == "number":
        return {**node, "type": ["number", "string"], **_refer("any-number")}
    if node.get("type") == "boolean":  # pydantic reads 0 and 1 as well
        return {**node, "type": ["boolean", "integer", "string"], "minimum": 0, "maximum": 1, **_refer("on-off")}
    return _text(node) if node.get("type") == "string" else node


def _refer(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _kept(node: Schema, *keys: str) -> Schema:
    return {key: node[key] for key in keys if key in node}


def _text(node: Schema) -> Schema:
    node = dict(node)
    if node.pop("format", "") in ("date", "date-time", "time", "duration"):  # pydantic reads seconds as well
        node["type"] = ["string", "number"]
    pattern = node.get("pattern")
    if pattern is not None:
        try:
            re.compile(pattern)
            node["pattern"] = f"{pattern}|{_REFERENCE}"
        except re.error:  # a word of another dialect
            del node["pattern"]
    limited = "maxLength" in node or node.get("minLength", 0) > _SHORTEST
    return _or_reference(node) if limited else node


def _or_reference(node: Schema) -> Schema:
    inner = {key: value for key, value in node.items() if key not in _NOTES}
    return {"anyOf": [inner, _refer("env-reference")], **_kept(node, *_NOTES)}


def _choice(node: Schema) -> Schema:
    """Flatten choices within a choice; `TYPE or null` becomes one schema of two types."""
    members = node.get("anyOf")
    if not members:
        return node
    flat: list[Any] = []
    for member in members:
        inner = member["anyOf"] if isinstance(member, dict) and set(member) == {"anyOf"} else [member]
        flat += [item for item in inner if item not in flat]
    rest = [item for item in flat if item != {"type": "null"}]
    if len(rest) == 1 and len(flat) == 2 and "type" in rest[0] and not {"enum", "const"} & set(rest[0]):
        types = rest[0]["type"]
        both = [*(types if isinstance(types, list) else [types]), "null"]
        outer = {key: value for key, value in node.items() if key != "anyOf"}
        return {**rest[0], "type": both, **outer}
    return {**node, "anyOf": flat}


def _by_name(node: Schema) -> Schema:
    """Tell in a mapping of `NamedValue`s which keys speak of a credential."""
    values = node.get("additionalProperties")
    if isinstance(values, dict) and values.get(BY_NAME):
        secret = {"type": "string", **_refer("secret-reference")}
        plain = {"type": "string", "anyOf": [secret, {"not": {"pattern": any_case(SECRET_TEXT.pattern)}}]}
        node = {**node, "patternProperties": {any_case(SECRET_NAME.pattern): secret}, "additionalProperties": plain}
    return node


def any_case(pattern: str) -> str:
    """Return a regular expression that matches without IGNORECASE, which JSON Schema has not, what this one does with.

    Args:
        pattern: of lower-case letters, `a-z` the one range among its sets.
    """

    def both(match: re.Match[str]) -> str:
        text = match[0]
        if text.startswith("\\"):
            return text
        if text.startswith("["):
            return re.sub(
                r"\\.|a-z|[a-z]", lambda part: part[0] if "\\" in part[0] else part[0] + part[0].upper(), text
            )
        return f"[{text}{text.upper()}]"

    return re.sub(r"\\.|\[[^\]]*\]|[a-z]", both, pattern)


def _markdown(node: Schema) -> Schema:
    """Return what editors show instead of the description, where that has marks or there is a default to tell."""
    text, default = str(node["description"]), node.get("default")
    if default is not None:
        return {"markdownDescription": f"{text}\n\nDefault: `{json.dumps(default, ensure_ascii=False)}`"}
    return {"markdownDescription": text} if "`" in text else {}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
