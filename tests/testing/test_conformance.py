"""The kit passes sound plugins, and each of its checks can fail with a text that says how to mend it."""

from __future__ import annotations

import pytest

from aworld_cli.testing import Conformance
from tests.testing.conftest import CheckOf, Plant, failure
from tests.testing.samples import SOUND


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_plugin_passes(kind: str, plant: Plant) -> None:
    checks = Conformance(plant(kind)).checks()
    assert len({str(check) for check in checks}) == len(checks) > 12
    for check in checks:
        check()


#: The kind, what is changed, the check that must fail, and what its text holds.
BAD: list[tuple[str, list[tuple[str, str]], str, str]] = [
    # the plugin
    ("tool", [("aworld_api = 1", "aworld_api = 99")], "loads", "aworld_api = 1"),
    ("tool", [("aworld_api = 1", "import nowhere_at_all")], "loads", "nowhere_at_all"),
    ("tool", [('"mine", "Mine"', '"my/tool", "Mine"')], "loads", "is no name for a component"),
    ("tool", [("def aworld_components", "def aworld_componnents")], "loads", "aworld_componnents"),
    ("tool", [("aworld_api = 1", "aworld_api = 1\nimport yaml")], "import weight", "imports yaml"),
    ("tool", [("aworld_api = 1", "aworld_api = 1\nimport asyncio, pydantic")], "import weight", "asyncio, pydantic"),
    (
        "tool",
        [("aworld_api = 1", "aworld_api = 1\nimport time\nwhile time.process_time() < 2: pass")],
        "import weight",
        "s of CPU time; move what it computes",
    ),
    ("tool", [("aworld_api = 1", "aworld_api = 1\nprint('hello')")], "import is quiet", "prints to stdout"),
    (
        "tool",
        [("aworld_api = 1", "aworld_api = 1\nimport threading\nthreading.Timer(1, int).start()")],
        "import is quiet",
        "starts the thread",
    ),
    (
        "tool",
        [("aworld_api = 1", "aworld_api = 1\nimport os\nos.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '1')")],
        "import is quiet",
        "starts a child process",
    ),
    ("tool", [("aworld_api = 1", "aworld_api = 1\nimport {name}_impl")], "components are lazy", "drop that import"),
    ("tool", [('"Mine"', '" "')], "offers something", "has no summary"),
    ("tool", [("@hookimpl\n", "")], "offers something", "aworld_components has no decorator @hookimpl"),
    ("tool", [('return [Component("{kind}"', 'return [] and [Component("{kind}"')], "offers something", "no component"),
    # a component
    ("tool", [("{name}_impl:make", "{name}_impl:maker")], "factory and config exist", "cannot be loaded"),
    ("tool", [("{name}_impl:Config", "nowhere_at_all:Config")], "factory and config exist", "nowhere_at_all"),
    ("tool", [("class Config(BaseModel)", "class Config")], "factory and config exist", "not a pydantic model"),
    ("tool", [("    server = str", "    raise KeyError('x')\n    server = str")], "starts nothing", "MachineError"),
    ("environment", [('    name = "mine"\n', "")], "starts nothing", "without a `name`"),
    (
        "environment",
        [("    return Environment(config)", "    import tempfile; tempfile.mkdtemp()\n    return Environment(config)")],
        "starts nothing",
        "the temporary file",
    ),
    (
        "environment",
        [("    return Environment(config)", "    open('left.txt', 'w').close()\n    return Environment(config)")],
        "starts nothing",
        "'left.txt' is left in the working directory",
    ),
    (
        "model",
        [("    async def start", "    def resources(self):\n        return {}\n    async def start")],
        "tells its resources",
        "not a resources.Resources",
    ),
    (
        "model",
        [
            (
                "    async def start",
                "    def resources(self):\n        from aworld_cli.resources import Resources\n"
                "        return Resources(limits=('sise',))\n    async def start",
            )
        ],
        "tells its resources",
        "['sise'], which are no options",
    ),
    # options
    (
        "tool",
        [
            (
                'class Config(BaseModel):\n    model_config = ConfigDict(extra="forbid"',
                'class Config(BaseModel):\n    model_config = ConfigDict(extra="ignore"',
            )
        ],
        "options are strict",
        "Config takes unknown keys",
    ),
    (
        "tool",
        [
            (
                'class Inner(BaseModel):\n    model_config = ConfigDict(extra="forbid"',
                'class Inner(BaseModel):\n    model_config = ConfigDict(extra="allow"',
            )
        ],
        "options are strict",
        "Inner takes unknown keys",
    ),
    (
        "tool",
        [
            (
                "    size: int",
                "    @__import__('pydantic').model_validator(mode='before')\n    @classmethod\n"
                "    def _drop(cls, value):\n        return {}\n    size: int",
            )
        ],
        "options are strict",
        "accepts an unknown key",
    ),
    ("tool", [(', description="How many."', "")], "options are documented", "Config.size has no description"),
    ("tool", [(', description="How deep."', "")], "options are documented", "Inner.depth has no description"),
    ("tool", [("    size: int", "    kind: int")], "option names are free", "'kind' can never be given"),
    (
        "trainer",
        [("    size: int", "    split: str = Field('x', description='x')\n    size: int")],
        "option names are free",
        "'split' can never",
    ),
    ("tool", [("Field(20, ge=1", "Field(0, ge=1")], "defaults are valid", "the default 0 of Config.size"),
    ("tool", [("size: int = Field(20", "size: int = Field('20'")], "defaults are valid", "are not the same"),
    ("tool", [("api_key: SecretStr", "api_key: str")], "secrets are hidden", "make it a pydantic.SecretStr"),
]


@pytest.mark.parametrize(("kind", "changes", "check", "said"), BAD, ids=[f"{row[0]}-{row[3]}"[:60] for row in BAD])
def test_a_bad_plugin_is_caught(
    kind: str, changes: list[tuple[str, str]], check: str, said: str, plant: Plant, check_of: CheckOf
) -> None:
    assert said in failure(check_of(plant(kind, *changes), check))


def test_what_a_check_found_running_is_ended(plant: Plant, check_of: CheckOf, no_strays: None) -> None:
    changed = ("        self.open = True\n", "        import subprocess\n        subprocess.Popen(['sleep', '60'])\n")
    assert "sleep 60" in failure(check_of(plant("model", changed), "starts, answers and stops"))
