"""`aworld plugins show`: options as a person reads them, and a snippet that a recipe accepts."""

from __future__ import annotations

import json

import pytest
import yaml

from aworld_cli.host.component import KINDS
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registered, Registry
from tests.conftest import AddPlugin, Aworld

COMPONENTS = Registry(load_plugins()).components()
ODD = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "odd", "Odd options", "test_plugin_odd:factory", "test_plugin_odd:Config")]

def __getattr__(name):
    if name != "Config":
        raise AttributeError(name)
    from test_plugin_odd_config import Config
    return Config
"""
ODD_CONFIG = """
from __future__ import annotations
import enum
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NewType, TypeVar
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr
from typing_extensions import TypeAliasType

class Colour(enum.Enum):
    red = "r"
    green = "g"

class Strange:
    def __str__(self): raise RuntimeError

UserId = NewType("UserId", int)
Alias = TypeAliasType("Alias", list[int])

class Node(BaseModel):
    name: str = Field(min_length=2, max_length=9)
    children: list[Node] = []

class Config(BaseModel):
    '''Odd options.

    Of every sort.'''
    model_config = ConfigDict(arbitrary_types_allowed=True)
    colour: Colour = Colour.red
    colours: set[Colour]
    pair: tuple[int, str] = (1, "a")
    steps: Sequence[Annotated[int, Field(ge=1)]] = Field(..., description="Two\\nlines.")
    call: Callable[[int], str] = print
    strange: Strange = Field(default_factory=Strange)
    key: SecretStr = SecretStr("hunter2")
    needed_key: SecretStr
    later: int = Field(default_factory=lambda data: data["nothing"])
    wait: timedelta = timedelta(seconds=3)
    price: Decimal = Field(Decimal("1.5"), multiple_of=Decimal("0.5"))
    user: UserId = UserId(0)
    numbers: Alias = []
    free: Any = None
    where: Path = Path("x")
    node: Node
    nodes: Mapping[str, Node] = {}
    called: int = Field(7, validation_alias=AliasChoices("other-name", "called"))
    count: int = Field(gt=3)
    example: str = Field(examples=["https://example.org"])
"""


@pytest.mark.parametrize(
    "item", COMPONENTS, ids=lambda item: f"{item.component.kind}-{item.component.name}-{item.plugin.distribution}"
)
def test_every_component_has_words_and_a_snippet(item: Registered) -> None:
    from aworld_cli.recipe.describe import options
    from aworld_cli.recipe.snippet import snippet

    model = item.config_model()
    told = options(model)
    assert json.loads(json.dumps(told)) == told
    assert len(told) == len(model.model_fields)
    assert all(option["description"] and option["type"] for option in told)
    value = yaml.safe_load(snippet(item.component.kind, item.component.name, model))
    ((key, choice),) = value.items()
    choice = choice[0] if key in ("tools", "reporters", "stages") else choice
    choice = next(iter(choice.values())) if key == "stages" else choice
    assert choice["kind"] == item.component.name
    assert {name for name in choice if name not in ("kind", "from")} == {
        field.alias or name for name, field in model.model_fields.items() if field.is_required()
    }


def test_all_kinds_are_tried() -> None:
    assert {item.component.kind for item in COMPONENTS} == set(KINDS)


def test_a_component_for_people_and_for_scripts(aworld: Aworld) -> None:
    done = aworld("plugins", "show", "stdio")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("tool stdio: Any MCP server")
    assert lines[1].startswith("from aworld-cli ") and ", plugin API 1, in /" in lines[1]
    words = [" ".join(line.split()) for line in lines]
    assert "command text, not empty required The program." in words
    assert lines[-4:] == ["in a recipe:", "  tools:", "  - kind: stdio", "    command: <command>"]
    (part,) = [json.loads(line) for line in aworld("plugins", "show", "stdio", "--json").stdout.splitlines()]
    assert part["kind"] == "tool" and part["status"] == "ok" and part["snippet"].startswith("tools:")
    (command,) = [option for option in part["options"] if option["name"] == "command"]
    assert command == {
        "name": "command",
        "type": "text",
        "limits": ["not empty"],
        "required": True,
        "default": None,
        "description": "The program.",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("calculator", [("tool", "calculator")]),
        ("tool/calculator", [("tool", "calculator")]),
        ("aworld-toolbox/calculator", [("tool", "calculator")]),
        ("tool/Aworld_Toolbox/calculator", [("tool", "calculator")]),
        ("local", [("model", "local"), ("runtime", "local")]),
        ("aworld-local/local", [("model", "local")]),
        ("models", [("command", "models")]),
        ("toolbox", [("plugin", "toolbox")]),
        ("Aworld_Toolbox", [("plugin", "toolbox")]),
    ],
)
def test_each_way_to_name_a_thing(name: str, expected: list[tuple[str, str]], aworld: Aworld) -> None:
    done = aworld("plugins", "show", name, "--json")
    assert done.returncode == 0
    parts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(part["kind"], part["name"]) for part in parts] == expected


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("calculater", "no component, plugin or distribution is called 'calculater'; did you mean 'calculator'?"),
        ("aworld-tolbox", "did you mean 'aworld-toolbox'?"),
        ("zzzz", "; `aworld plugins` lists what is installed"),
        ("tool/calculater", "tool has nothing called 'calculater'; did you mean 'calculator'?"),
        ("tol/calculator", "no kind and no distribution is called 'tol'; did you mean 'tool'?"),
    ],
)
def test_an_unknown_name_is_one_line(name: str, said: str, aworld: Aworld) -> None:
    done = aworld("plugins", "show", name)
    assert done.returncode == 5 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.rstrip().endswith(said)


def test_a_plugin_that_did_not_load_tells_why(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("bad", "import does_not_exist_anywhere")
    done = aworld("plugins", "show", "bad")
    assert done.returncode == 0
    assert "status: failed: ModuleNotFoundError: No module named 'does_not_exist_anywhere'" in done.stdout


def test_options_that_cannot_be_loaded_are_an_error_of_the_plugin(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("odd", ODD)
    done = aworld("plugins", "show", "odd")
    assert done.returncode == 5 and "Traceback" not in done.stderr
    assert "tool 'odd' of aworld-odd cannot be loaded (test_plugin_odd:Config)" in done.stderr


def test_any_type_of_a_third_party_has_words(aworld: Aworld, add_plugin: AddPlugin) -> None:
    module = add_plugin("odd", ODD)
    module.with_name("test_plugin_odd_config.py").write_text(ODD_CONFIG)
    done = aworld("plugins", "show", "odd", "--json")
    assert done.returncode == 0, done.stderr
    (part,) = [json.loads(line) for line in done.stdout.splitlines()]
    told = {option["name"]: option for option in part["options"]}
    words = {name: ", ".join([option["type"], *option["limits"]]) for name, option in told.items()}
    assert part["description"] == "Odd options.\n\nOf every sort."
    assert words["colour"] == "r or g" and told["colour"]["default"] == "r"
    assert words["colours"] == "list of r or g"
    assert words["pair"] == "list of 2 (integer, text)" and told["pair"]["default"] == [1, "a"]
    assert words["steps"] == "list of integer" and told["steps"]["description"] == "Two lines."
    assert told["strange"]["default"] == "(Strange)" and words["strange"] == "Strange"
    assert told["key"]["default"] == "(kept secret)"
    assert told["later"]["default"] == "(computed)"
    assert words["wait"] == "timedelta" and words["user"] == "integer" and words["numbers"] == "list of integer"
    assert words["price"] == "Decimal, a multiple of 0.5" and words["where"] == "path"
    assert words["other-name"] == "integer" and "called" not in words
    assert [option["name"] for option in told["node"]["options"]] == ["name", "children"]
    assert words["nodes"] == "mapping of mapping"
    assert told["node"]["options"][0]["limits"] == ["length at least 2", "length at most 9"]
    assert "hunter2" not in done.stdout
    assert yaml.safe_load(part["snippet"]) == {
        "tools": [
            {
                "kind": "odd",
                "colours": ["r"],
                "steps": [1],
                "needed_key": "${env:NEEDED_KEY}",
                "node": {"name": "<name>"},
                "count": 4,
                "example": "https://example.org",
            }
        ]
    }
    people = aworld("plugins", "show", "odd")
    assert people.returncode == 0 and "node.children" in people.stdout and "hunter2" not in people.stdout


def test_the_snippet_names_the_distribution_where_the_name_is_not_enough(aworld: Aworld, add_plugin: AddPlugin) -> None:
    module = add_plugin("odd", ODD.replace('"odd"', '"calculator"'))
    module.with_name("test_plugin_odd_config.py").write_text(ODD_CONFIG)
    parts = [json.loads(line) for line in aworld("plugins", "show", "calculator", "--json").stdout.splitlines()]
    assert [part["status"] for part in parts] == ["shadowed", "shadowed"]
    kinds = [yaml.safe_load(part["snippet"])["tools"][0]["kind"] for part in parts]
    assert kinds == ["aworld-odd/calculator", "aworld-toolbox/calculator"]
