"""A sound plugin of each kind, from which the tests make bad ones by changing a line."""

from __future__ import annotations

ENTRY = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("{kind}", "mine", "Mine", "{name}_impl:make", "{name}_impl:Config")]
"""

CONFIG = """
from pydantic import BaseModel, ConfigDict, Field, SecretStr
class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    depth: int = Field(1, ge=1, description="How deep.")
class Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    size: int = Field(20, ge=1, description="How many.")
    api_key: SecretStr | None = Field(None, description="The key.")
    inner: Inner = Field(Inner(), description="More.")
    inners: tuple[Inner, ...] = Field((), description="Even more.")
"""

ENVIRONMENT = (
    CONFIG
    + """
from aworld_cli.environment import Task
from aworld_cli.trajectory import Grade, Message
class Environment:
    name = "mine"
    def __init__(self, config):
        self.config = config
    def splits(self):
        return ["train", "test"]
    def tasks(self, split, limit):
        if split not in self.splits():
            raise ValueError("there are train and test")
        ids = [f"{split}-{n}" for n in range(self.config.size)]
        made = [Task(one, (Message("user", one),), one[-1]) for one in ids]
        return made[:limit]
    def grade(self, task, answer, messages):
        correct = answer == task.answer
        return Grade(float(correct), correct, {})
    def corpus(self):
        yield from ["one", "two"]
def make(config):
    return Environment(config)
"""
)

MODEL = (
    CONFIG
    + """
import asyncio, random
from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.model import Reply
from aworld_cli.trajectory import Message, ToolCall
class Model:
    name = "mine"
    def __init__(self, context):
        self.context = context
        self.open = False
    async def start(self):
        self.open = True
    async def close(self):
        self.open = False
    async def complete(self, request):
        await asyncio.sleep(0.02)
        number = random.Random(request.params.seed).random()
        return Reply(Message("assistant", f"{number}"), "stop", 1, 1)
def make(config, context):
    return Model(context)
"""
)

SERVER = r"""
import json, os, sys, subprocess, time
TOOL = {"name": "search", "description": "Search.", "inputSchema": {"type": "object",
        "properties": {"query": {"type": "string"}}, "required": ["query"]}}
def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "mine", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        wrong = params["name"] != "search" or set(params.get("arguments") or {}) != {"query"}
        return {"content": [{"type": "text", "text": "wrong" if wrong else "found"}], "isError": wrong}
    return None
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    body = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""

TOOL = (
    CONFIG
    + """
import sys
from pathlib import Path
from aworld_cli.tool import StdioServer
def make(config):
    server = str(Path(__file__).with_name("server.py"))
    return StdioServer("mine", sys.executable, ("-S", server), start_timeout=10)
"""
)

AGENT = (
    CONFIG
    + """
from aworld_cli.trajectory import Message, Turn
class Agent:
    name = "mine"
    def __init__(self):
        self.seen = []
    def opening(self, task):
        return list(task.messages)
    async def attempt(self, context, attempt):
        session = context.open_session(self.opening(context.task))
        for turn in range(5):
            reply = await session.reply(turn=turn, allow_tools=turn < 4)
            attempt.turns.append(Turn(0.0, stop=reply.stop))
            attempt.answer = reply.message.content
            calls = reply.message.tool_calls
            if not calls:
                if turn == 4:
                    attempt.outcome, attempt.limit = "limit", "turns"
                return
            results = [await context.call_tool(call) for call in calls]
            said = [Message("tool", r.text, tool_call_id=c.id) for r, c in zip(results, calls)]
            session.observe(said)
def make(config):
    return Agent()
"""
)

RUNTIME = (
    CONFIG
    + """
import asyncio
from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.trajectory import Trajectory
class Runtime:
    name = "mine"
    async def run(self, episodes, execute):
        tasks = [asyncio.create_task(self.settle(one, execute)) for one in episodes]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    async def settle(self, episode, execute):
        try:
            return await execute(episode)
        except Exception as error:
            if getattr(error, "fatal", False):
                raise MachineError(str(error))
            failed = {"kind": "plugin", "message": str(error)}
            return Trajectory(episode.id, "error", "", episode.seed, error=failed)
def make(config):
    return Runtime()
"""
)

TRAINER = (
    CONFIG
    + """
class Trainer:
    name = "mine"
    def __init__(self, config):
        self.config = config
    def check(self, plan, tasks):
        return {"size": "too many"} if self.config.size > tasks else {}
    def preview(self, plan):
        return {"steps": self.config.size, "temperature": plan.recipe.sampling.temperature}
    async def prepare(self, context):
        pass
    async def train(self, context):
        raise NotImplementedError
def make(config):
    return Trainer(config)
"""
)

REPORTER = (
    CONFIG
    + """
import json
class Reporter:
    name = "mine"
    def run_started(self, run):
        self.file = open(run.directory / "mine.txt", "a", encoding="utf-8", errors="replace")
    def stage_started(self, stage):
        print(stage, file=self.file)
    def trajectory_finished(self, stage, record):
        print(record["outcome"], record["answer"], file=self.file)
    def stage_finished(self, stage, summary):
        print(json.dumps(summary), file=self.file)
    def run_finished(self, status, summary):
        self.file.close()
def make(config):
    return Reporter()
"""
)

TOKEN_MODEL = (
    CONFIG
    + """
import random
from aworld_cli.model import Generation
from aworld_cli.testing.stage import JsonCodec
from aworld_cli.trajectory import Message
class Codec(JsonCodec):
    def parse(self, ids, *, turn, tools=()):
        return Message("assistant", bytes(ids[:-1]).decode())
class Model:
    name = "mine"
    async def start(self):
        self.codec = Codec()
    async def close(self):
        pass
    async def generate(self, prompt_ids, params, request_id):
        ids = [*str(random.Random(params.seed).random())[:4].encode(), 256]
        return Generation(ids, [-0.5] * len(ids), "stop")
def make(config, context):
    return Model()
"""
)

SOUND = {
    "environment": ENVIRONMENT,
    "model": MODEL,
    "tool": TOOL,
    "agent": AGENT,
    "runtime": RUNTIME,
    "trainer": TRAINER,
    "reporter": REPORTER,
}
