"""What a plugin raises, `SystemExit` too, names the plugin in one line; what is on record by then stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import AddPlugin, Aworld

FAULTY = """
import sys
from pathlib import Path
from pydantic import BaseModel
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    here = __name__
    return [
        Component("model", "faulty", "faulty", here + ":model", here + ":Config"),
        Component("trainer", "faulty", "faulty", here + ":Trainer", here + ":Config"),
    ]
class Config(BaseModel):
    at: str = ""
    exits: bool = False
class Faulty:
    name = "faulty"
    def __init__(self, config):
        self.config = config
    def fail(self, at):
        if self.config.at == at:
            if self.config.exits:
                sys.exit(9)
            raise ValueError("a bug")
class Model(Faulty):
    async def start(self):
        self.fail("start")
    async def close(self):
        self.fail("close")
    async def complete(self, request):
        from aworld_cli.model import Reply
        from aworld_cli.trajectory import Message
        self.fail("complete")
        return Reply(Message("assistant", "1"), "stop")
    def check(self):
        pass
    async def ensure_checkpoint(self):
        return Path()
def model(config, context):
    return Model(config)
class Trainer(Faulty):
    def check(self, plan, tasks):
        return {}
    def preview(self, plan):
        return {}
    async def prepare(self, context):
        pass
    async def train(self, context):
        self.fail("train")
"""
RECIPE = """\
aworld: 1
name: faulty
model: {{kind: faulty, at: {at}, exits: {exits}}}
environment: {{kind: arithmetic}}
stages:
  - eval: {{split: test, tasks: 2}}
{more}"""


@pytest.mark.parametrize(
    ("at", "code", "said"),
    [
        ("start", 5, "error: model 'faulty' of aworld-faulty failed while starting: "),
        ("complete", 1, "error: 2 episodes failed for infrastructure reasons"),
        ("close", 0, "warning: model 'faulty' of aworld-faulty did not close: "),
        ("train", 5, "error: trainer 'faulty' of aworld-faulty failed while training: "),
    ],
)
@pytest.mark.parametrize("exits", ["false", "true"])
def test_it_is_named(
    at: str, code: int, said: str, exits: str, aworld: Aworld, add_plugin: AddPlugin, tmp_path: Path
) -> None:
    add_plugin("faulty", FAULTY)
    more = f"  - train: {{kind: faulty, tasks: 1, at: train, exits: {exits}}}\n" if at == "train" else ""
    (tmp_path / "recipe.yaml").write_text(RECIPE.format(at=at, exits=exits, more=more))
    done = aworld("run", "recipe.yaml")
    assert done.returncode == code, done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr
    if at != "start":
        (summary,) = tmp_path.glob("runs/*/stages/01-eval/summary.json")
        assert json.loads(summary.read_text())["counts"]["error"] == (2 if at == "complete" else 0)
