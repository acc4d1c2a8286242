"""Plugins that do to this process what none should: each costs a line at most, never a crash or a lost result."""

from __future__ import annotations

import json

import pytest

from tests.conftest import AddPlugin, Aworld

API = "aworld_api = 1\n"
ERROR = API + "class Odd(Exception{more}):\n    {body}\nraise Odd()\n"
STREAM = """
import sys
class Broken:
    def write(self, text): raise RuntimeError("no writing")
    flush = write
"""

SOURCES = {
    "its text exits": (
        ERROR.format(more="", body="def __str__(self): raise SystemExit(3)"),
        ("failed", "Odd: its text cannot be had (SystemExit)"),
    ),
    "its text fails badly": (
        ERROR.format(more="", body="def __str__(self): raise BaseException"),
        ("failed", "Odd: its text cannot be had (BaseException)"),
    ),
    "its class has no name": (
        "class Meta(type):\n    __name__ = property(lambda self: exit(3))\n"
        + ERROR.format(more=", metaclass=Meta", body="pass"),
        ("failed", "Odd: no message"),
    ),
    "an API that JSON cannot say": ("aworld_api = 10 ** 5000", ("failed", "ValueError: Exceeds the limit")),
    "an API of several lines": (
        'aworld_api = "2\\nerror: x"',
        ("incompatible", r"was built for plugin API '2\nerror: x'; this aworld speaks 1"),
    ),
    "an API that is true": ("aworld_api = True", ("incompatible", "was built for plugin API True")),
    "streams of its own": (API + STREAM + "sys.stdout = sys.stderr = Broken()\n", ("ok", "")),
    "a stream in the first one's place": (API + STREAM + "sys.__stdout__ = Broken()\n", ("ok", "")),
    "no more files": (API + "import builtins\nbuiltins.open = None\n", ("ok", "")),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_list_is_whole(name: str, aworld: Aworld, add_plugin: AddPlugin) -> None:
    source, (status, reason) = SOURCES[name]
    add_plugin("aaa", source)  # before the others
    done = aworld("plugins", "--json")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    row = next(row for row in rows if row["plugin"] == "aaa")
    assert row["status"] == status and row["reason"].startswith(reason)
    assert {"builtin", "toolbox"} <= {row["plugin"] for row in rows if row["status"] == "ok"}


def test_an_origin_nested_without_end_is_no_crash(aworld: Aworld, add_plugin: AddPlugin) -> None:
    module = add_plugin("odd", API)
    (module.parent / "aworld_odd-1.0.dist-info" / "direct_url.json").write_text("[" * 100_000)
    assert aworld("plugins").returncode == 0


def test_a_plugins_text_does_not_steer_the_terminal(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("odd", r'raise RuntimeError("\x1b[2J \x9b31m \u202e \ud800")')
    done = aworld("plugins", "--check")
    assert done.returncode == 1
    assert r"RuntimeError: \u001b[2J \u009b31m \u202e \ud800" in done.stderr
    assert not {"\x1b", "\x9b", "\u202e"} & {*(done.stdout + done.stderr)}
