"""Each check of a kind of component can fail, with a text that says how to mend it."""

from __future__ import annotations

import pytest

from tests.testing.conftest import CheckOf, Plant, failure

#: The kind, what is changed in its sound sample, the check that must fail, and what its text holds.
BAD: list[tuple[str, list[tuple[str, str]], str, str]] = [
    # environments
    ("environment", [('["train", "test"]\n', "[]\n")], "has splits", "names no split"),
    ("environment", [("range(self.config.size)", "range(0)")], "tasks are sound", "has no tasks"),
    ("environment", [('f"{split}-{n}"', 'f"{n}"')], "tasks are sound", "stands for two tasks"),
    ("environment", [('(Message("user", one),)', "()")], "tasks are sound", "not some trajectory.Message"),
    (
        "environment",
        [('(Message("user", one),)', 'Message("user", one)')],
        "tasks are sound",
        "not some trajectory.Message in a tuple",
    ),
    ("environment", [("return made[:limit]", "return iter(made[:limit])")], "tasks are sound", "not a list"),
    ("environment", [("return made[:limit]", "return made")], "limit is respected", "are not the first 1"),
    ("environment", [("return made[:limit]", "return made[-(limit or 0):]")], "limit is respected", "a beginning of"),
    (
        "environment",
        [("in range(self.config.size)]", "in {str(n) for n in range(self.config.size)}]")],
        "tasks are the same in every process",
        "set or a directory",
    ),
    ("environment", [("one[-1])", "one[-1], {'o': object()})")], "the same in every process", "Task.metadata"),
    ("environment", [('raise ValueError("there are', 'return [] and ("there are')], "unknown split", "gave 0 tasks"),
    ("environment", [("raise ValueError(", "raise KeyError(")], "unknown split", "KeyError"),
    ("environment", [("answer == task.answer", "answer.strip() == task.answer")], "grades every answer", "None raised"),
    ("environment", [("float(correct)", "2 * float(correct)")], "grades every answer", "not in [0, 1]"),
    ("environment", [("def grade", "async def grade")], "grades every answer", "it is not awaited"),
    (
        "environment",
        [("        correct =", "        __import__('time').sleep(1.1)\n        correct =")],
        "grades every answer",
        "on the event loop",
    ),
    (
        "environment",
        [("Grade(float(correct)", "Grade(__import__('random').random()")],
        "grades every answer",
        "equal answers get equal grades",
    ),
    ("environment", [("correct, {})", "correct, {'x': object()})")], "grades every answer", "must be JSON"),
    ("environment", [("answer == task.answer", "answer == task.id")], "reference answer as right", "is graded"),
    (
        "environment",
        [('["one", "two"]', "[str(__import__('random').random())]")],
        "has a corpus",
        "another one each time",
    ),
    # tools
    ("tool", [('StdioServer("mine"', 'StdioServer("my server"')], "describes a server", "names its log"),
    (
        "tool",
        [("return StdioServer(", "return dict(enumerate(("), ("start_timeout=10)", ")))")],
        "describes a server",
        "not an aworld_cli.tool.StdioServer",
    ),
    (
        "tool",
        [("import json, os", "sys.exit('no data')\nimport json, os"), ("import json, os", "import json, os")],
        "starts, lists its tools and stops",
        "did not start",
    ),
    ("tool", [('"name": "search"', '"name": "search it"')], "starts, lists its tools and stops", "is not 1 to 64"),
    (
        "tool",
        [('"description": "Search."', '"description": ""')],
        "starts, lists its tools and stops",
        "models choose by",
    ),
    ("tool", [('"properties": {"query": {"type": "string"}}, ', "")], "starts, lists its tools and stops", "requires"),
    (
        "tool",
        [("for line in sys.stdin", "print('ready', flush=True)\nfor line in sys.stdin")],
        "starts, lists its tools and stops",
        "print to stderr",
    ),
    (
        "tool",
        [("for line in sys.stdin", "subprocess.Popen(['sleep', '60'], start_new_session=True)\nfor line in sys.stdin")],
        "starts, lists its tools and stops",
        "is left running",
    ),
    (
        "tool",
        [("for line in sys.stdin", "open(os.environ['TMPDIR'] + '/x', 'w').close()\nfor line in sys.stdin")],
        "starts, lists its tools and stops",
        "temporary file 'x'",
    ),
    (
        "tool",
        [
            (
                '        wrong = params["name"]',
                '        if not params.get("arguments"): os._exit(1)\n        wrong = params["name"]',
            )
        ],
        "answers wrong calls with an error",
        "died of the call",
    ),
    ("tool", [('"isError": wrong', '"isError": False')], "answers wrong calls with an error", "without is_error"),
    # models
    (
        "model",
        [
            ("        self.open = False\n    async def start", "        self.open = None\n    async def start"),
            ("    async def close(self):\n", "    async def close(self):\n        self.open + 1\n"),
        ],
        "close needs no start",
        "must not fail",
    ),
    (
        "model",
        [("        self.open = True\n", "        raise OSError('no GPU')\n")],
        "starts, answers and stops",
        "raise MachineError with the remedy",
    ),
    ("model", [("async def complete", "async def respond")], "starts, answers and stops", "neither a TokenModel"),
    ("model", [('"stop", 1, 1)', '"done", 1, 1)')], "starts, answers and stops", "stopped for 'done'"),
    (
        "model",
        [("        number = random", "        request.messages[99]\n        number = random")],
        "starts, answers and stops",
        "is an EpisodeError",
    ),
    (
        "model",
        [("random.Random(request.params.seed).random()", "random.random()")],
        "equal seeds give equal replies",
        "must derive from",
    ),
    (
        "model",
        [
            ("        await asyncio.sleep(0.02)\n", "        self.open += 1\n        await asyncio.sleep(0.02)\n"),
            ('f"{number}"', 'f"{number} {self.open}"'),
        ],
        "equal seeds give equal replies",
        "asked twice",
    ),
    (
        "model",
        [("        self.open = True\n", "        import subprocess\n        subprocess.Popen(['sleep', '60'])\n")],
        "starts, answers and stops",
        "is left running",
    ),
    (
        "model",
        [
            (
                "        self.open = True\n",
                "        import subprocess\n        self.p = subprocess.Popen(['sleep', '60'])\n"
                "        await asyncio.sleep(1)\n        self.open = True\n",
            ),
            (
                "    async def close(self):\n        self.open = False\n",
                "    async def close(self):\n        if self.open: self.p.kill(); self.p.wait()\n",
            ),
        ],
        "leaves nothing when cancelled",
        "is left running",
    ),
    (
        "model",
        [("def make(config, context)", "def make(config)")],
        "starts nothing",
        "(options, context: ModelContext)",
    ),
    # agents
    ("agent", [("return list(task.messages)", "return []")], "opens with messages", "not a list of some"),
    (
        "agent",
        [("return list(task.messages)", "task.metadata['x'] = 1\n        return list(task.messages)")],
        "opens with messages",
        "changed the task",
    ),
    (
        "agent",
        [("Turn(0.0, stop=reply.stop)", "Turn(0.0, stop=reply.stop)) if turn else (None")],
        "ends in a valid attempt",
        "has no turns",
    ),
    (
        "agent",
        [("attempt.answer = reply.message.content", "attempt.answer = reply.message")],
        "ends in a valid attempt",
        "not a text or None",
    ),
    (
        "agent",
        [("attempt.answer = reply.message.content", "answer = reply.message.content"), ("return\n", "return answer\n")],
        "ends in a valid attempt",
        "set attempt.answer, and return nothing",
    ),
    ("agent", [("attempt.answer =", "_ =")], "ends in a valid attempt", "attempt.answer is None"),
    ("agent", [("reply(turn=turn", "reply(turn=0")], "ends in a valid attempt", "thus one seed"),
    (
        "agent",
        [("session.observe(said)", "session.observe([Message('user', 'go on')])")],
        "ends in a valid attempt",
        "have no result",
    ),
    (
        "agent",
        [("            if not calls", "            reply.usage\n            if not calls")],
        "ends in a valid attempt",
        "attempt() raised AttributeError",
    ),
    (
        "agent",
        [('attempt.outcome, attempt.limit = "limit", "turns"', "pass\n                    attempt.outcome = 'limit'")],
        "ends though the model never stops",
        "name the limit",
    ),
    (
        "agent",
        [('[Message("tool", r.text', '[Message("tool", r.text + {}[r.is_error] if r.is_error else r.text')],
        "lives with tools that fail",
        "KeyError",
    ),
    (
        "agent",
        [
            ("            reply = await", "            try: reply = await"),
            (
                "            attempt.turns.append",
                "            except Exception: continue\n            attempt.turns.append",
            ),
            ("range(5)", "range(9)"),
        ],
        "passes a failure of the model on",
        "let EpisodeError through",
    ),
    (
        "agent",
        [
            ("        session = context", "        import asyncio\n        session = context"),
            (
                "            reply = await session.reply(turn=turn, allow_tools=turn < 4)",
                "            asking = asyncio.ensure_future(session.reply(turn=turn, allow_tools=turn < 4))\n"
                "            reply = await asyncio.shield(asking)",
            ),
        ],
        "passes a cancellation on",
        "asyncio tasks running",
    ),
    (
        "agent",
        [("        return list(task.messages)", "        self.seen += task.messages\n        return list(self.seen)")],
        "keeps no state between episodes",
        "keep nothing of an episode on it",
    ),
    (
        "agent",
        [
            ("            reply = await", "            try: reply = await"),
            (
                "            attempt.turns.append",
                "            except Exception as error:\n"
                "                from aworld_cli.errors import EpisodeError\n"
                "                raise EpisodeError('a', 'b') from error\n"
                "            attempt.turns.append",
            ),
        ],
        "ends when the model's context is full",
        "let it through",
    ),
    # runtimes
    (
        "runtime",
        [("for one in episodes]", "for one in list(episodes)[1:]]")],
        "every episode comes out once",
        "never came out",
    ),
    (
        "runtime",
        [("                yield await done", "                yield await done\n            yield tasks[0].result()")],
        "every episode comes out once",
        "came out",
    ),
    (
        "runtime",
        [("        except Exception as error:", "        except EpisodeError as error:")],
        "every episode comes out once",
        "record it (outcome 'error'",
    ),
    (
        "runtime",
        [('"error", "", episode.seed, error=failed', '"answered", "", episode.seed')],
        "every episode comes out once",
        "is recorded as 'answered'",
    ),
    (
        "runtime",
        [
            (
                "            return await execute(episode)",
                "            n = self.n = getattr(self, 'n', 0) + 1\n"
                "            made = await execute(episode)\n            made.answer += str(n)\n            return made",
            )
        ],
        "do not depend on the order",
        "the order in which they go in",
    ),
    (
        "runtime",
        [
            (
                "    async def settle(self, episode, execute):",
                "    async def settle(self, episode, execute, first=[]):",
            ),
            (
                "            return await execute(episode)",
                "            first.append(episode)\n            return await execute(first[0])",
            ),
        ],
        "settles one episode",
        "another episode's",
    ),
    ("runtime", [('getattr(error, "fatal", False)', "False")], "failure that none can survive", "marked `fatal`"),
    (
        "runtime",
        [
            (
                "                task.cancel()\n            await asyncio.gather(*tasks, return_exceptions=True)",
                "                pass",
            )
        ],
        "leaves nothing when stopped",
        "episodes go on",
    ),
    # trainers
    (
        "trainer",
        [('return {"size": "too many"} if self.config.size > tasks else {}', "return 1 / tasks")],
        "checks its options",
        "check() with 0 tasks raised ZeroDivisionError",
    ),
    ("trainer", [('{"size": "too', '{"batch": "too')], "checks its options", "blames ['batch']"),
    ("trainer", [('"steps": self.config.size', '"steps": self.config')], "shows what it would do", "not JSON"),
    ("trainer", [("    async def train", "    def train")], "prepare and train are coroutines", "async def train"),
    # reporters
    ("reporter", [('record["answer"]', 'record["reply"]')], "hears a run", "trajectory_finished() raised KeyError"),
    (
        "reporter",
        [('        print(record["outcome"]', '        record["x"] = 1\n        print(record["outcome"]')],
        "hears a run",
        "copy it first",
    ),
    ("reporter", [("def trajectory_", "async def trajectory_")], "hears a run", "it is not awaited"),
    ("reporter", [(', errors="replace"', "")], "hears odd values", "UnicodeEncodeError"),
    ("reporter", [("json.dumps(summary)", "json.dumps(summary, allow_nan=False)")], "hears odd values", "ValueError"),
    ("reporter", [('"mine.txt", "a"', '"mine.txt", "x"')], "hears a run that fails and goes on", "FileExistsError"),
    (
        "reporter",
        [("        self.file.close()", "        pass; self.keep = globals().setdefault('KEPT', []).append(self.file)")],
        "closes what it opens",
        "mine.txt",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "check", "said"), BAD, ids=[f"{row[0]}-{row[3]}"[:60] for row in BAD])
def test_a_bad_component_is_caught(
    kind: str, changes: list[tuple[str, str]], check: str, said: str, plant: Plant, check_of: CheckOf
) -> None:
    assert said in failure(check_of(plant(kind, *changes), check))
