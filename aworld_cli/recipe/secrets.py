"""Secrets in recipes: a literal one is refused, so that no file of a run can hold one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Secret, SecretBytes, SecretStr

from aworld_cli.recipe.environment import is_reference
from aworld_cli.recipe.leaves import Leaf, Option

LITERAL: Final = (
    "a secret is never written in a recipe: set an environment variable and write ${env:NAME}, without a default"
)
BY_NAME: Final = "x-secret-by-name"
SECRET_NAME: Final = re.compile(
    r"auth(?!or(?!iz))|cookie|credential|passw|[^a-z]pwd|secret|signature|token(?![a-z])|apikey"
    r"|(?:^|[^a-z])keys?(?:$|[^a-z])",
    re.IGNORECASE,
)
SECRET_TEXT: Final = re.compile(
    r"^(?:bearer|basic|token)\s|^(?:sk-|ghp_|gho_|github_pat_|hf_|xox[abp]-|glpat-)\w|://[^/\s:@]*:[^/\s@]+@",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SecretByName:
    """Marks the values of a mapping of which only some are secret: its key tells, or the look of the value."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Say so in the JSON Schema that pydantic makes, where `option_schema` reads it."""
        return {**handler(core_schema), BY_NAME: True}


#: A header's or an environment variable's value. It is masked wherever it is shown; in a recipe it may be a literal
#: unless its key speaks of a credential (`Authorization`, `X-Api-Key`, `GITHUB_TOKEN`) or it looks like one itself.
NamedValue = Annotated[SecretStr, SecretByName()]


def is_literal_secret(leaf: Leaf) -> bool:
    """Tell whether a recipe says a secret in so many words. `leaf.value` is what stands in the recipe."""
    secret = [option for option in leaf.options if is_secret(option)]
    if not secret or leaf.value is None or leaf.value == "":
        return False
    if isinstance(leaf.value, str) and is_reference(leaf.value):
        return False
    if all(any(isinstance(mark, SecretByName) for mark in option.marks) for option in secret):
        names = [part for part in leaf.path if isinstance(part, str)]
        return any(map(speaks_of_secret, names[-1:])) or looks_secret(leaf.value)
    return True


def is_secret(option: Option) -> bool:
    """Tell whether a type is one of pydantic's secrets."""
    kind = getattr(option.type, "__origin__", option.type)
    return isinstance(kind, type) and issubclass(kind, SecretStr | SecretBytes | Secret)


def speaks_of_secret(name: str) -> bool:
    """Tell whether a header or a variable of this name holds a credential."""
    return SECRET_NAME.search(name) is not None


def looks_secret(value: Any) -> bool:
    """Tell whether a value looks like a credential (`Bearer ...`, `sk-...`)."""
    return isinstance(value, str) and SECRET_TEXT.search(value) is not None
