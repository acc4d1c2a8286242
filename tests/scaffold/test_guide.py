"""docs/plugins.md says what the code does: its signatures, its names, and its example, which is built and run."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aworld_cli.errors import EpisodeError
from aworld_cli.host import KINDS
from aworld_cli.scaffold import name_plugin, render
from aworld_cli.scaffold.kinds import TEMPLATES
from tests.scaffold.venvs import Venv

ROOT = Path(__file__).parents[2]
CORE = ROOT / "aworld_cli"
TEXT = (ROOT / "docs/plugins.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
FILES = dict(re.findall(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
#: Packages that are the core's own business, and modules beside packages that are public.
PRIVATE = {"scaffold"}
MODULES = {"errors", "resources", "seeds"}


def public() -> dict[str, set[str]]:
    """Return the names that the guide's last table calls public, by module."""
    rows = re.findall(r"^\| `(aworld_cli\.\w+)` \| (.*) \|$", TEXT, re.MULTILINE)
    return {module: set(re.findall(r"`(\w+)`", names)) for module, names in rows}


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import from the core."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aworld_cli":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "*") for alias in node.names if alias.name.split(".")[0] == "aworld_cli")


def shape(node: ast.ClassDef) -> tuple[dict[str, str], dict[str, str]]:
    """Return a class's fields (their types and defaults) and methods (their arguments and results)."""
    fields, methods = {}, {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            default = f" = {ast.unparse(item.value)}" if item.value else ""
            fields[ast.unparse(item.target)] = ast.unparse(item.annotation) + default
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = " ".join(ast.unparse(mark) for mark in item.decorator_list)
            result = ast.unparse(item.returns) if item.returns else ""
            methods[item.name] = f"{marks} {type(item).__name__} ({ast.unparse(item.args)}) -> {result}"
    return fields, methods


def classes(source: str) -> Iterator[ast.ClassDef]:
    yield from (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))


def test_every_hook_is_documented_with_its_arguments() -> None:
    hooks = [
        node
        for node in ast.parse((CORE / "host/hooks.py").read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("aworld_")
    ]
    assert hooks
    for hook in hooks:
        assert hook.returns is not None
        result = ast.unparse(hook.returns)
        signature = f"{hook.name}({ast.unparse(hook.args)})" + ("" if result == "None" else f" -> {result}")
        assert f"| `{signature}` |" in TEXT, signature


def test_every_kind_is_documented() -> None:
    headings = re.findall(r"^### (\w+)$", TEXT.partition("## The kinds")[2].partition("\n## Events")[0], re.MULTILINE)
    assert sorted(headings) == sorted(KINDS)
    assert all(f"`{kind}`" in TEXT for kind in KINDS)


def test_the_interfaces_are_those_of_the_code() -> None:
    files = [
        *CORE.glob("*/base.py"),
        CORE / "host/component.py",
        CORE / "trajectory/record.py",
        CORE / "trajectory/message.py",
    ]
    known = {node.name: shape(node) for file in files for node in classes(file.read_text())}
    compared = set()
    for block in BLOCKS:
        for node in classes(block):
            if node.name in known:
                fields, methods = shape(node)
                assert fields == known[node.name][0], node.name
                written = {name: text for name, text in known[node.name][1].items() if "Protocol" in ast.unparse(node)}
                assert methods == written, node.name
                compared.add(node.name)
    interfaces = {kind.capitalize() for kind in KINDS if kind != "tool"}
    assert interfaces <= compared
    assert {
        "Component",
        "Command",
        "Check",
        "Task",
        "Grade",
        "TrainerContext",
        "StdioServer",
        "RunInfo",
        "Message",
    } <= compared
    assert str(inspect.signature(EpisodeError)).startswith("(kind: 'str', message: 'str', *, retryable: 'bool' = True")
    assert "EpisodeError(kind, message, *, retryable=True, fatal=False)" in TEXT


def test_the_table_of_public_names_is_what_the_packages_show() -> None:
    shown = {}
    for file in CORE.glob("*/__init__.py"):
        module = importlib.import_module(f"aworld_cli.{file.parent.name}")
        if file.parent.name not in PRIVATE and hasattr(module, "__all__"):
            shown[module.__name__] = set(module.__all__)
    for name in MODULES:
        module = importlib.import_module(f"aworld_cli.{name}")
        own = {key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
        shown[module.__name__] = own | {key for key in vars(module) if key.isupper()}
    assert public() == shown


@pytest.mark.parametrize("block", BLOCKS)
def test_the_code_on_the_page_compiles_and_its_imports_are_there(block: str) -> None:
    compile(block, "docs/plugins.md", "exec")
    for module, name in imports(block):
        assert name in public()[module], (module, name)
        assert hasattr(importlib.import_module(module), name), (module, name)


def test_what_authors_start_from_uses_public_names_only() -> None:
    packages = [render(name_plugin(kind, "mine")) for kind in TEMPLATES]
    sources = [text for package in packages for path, text in package.items() if path.endswith(".py")]
    sources += [path.read_text() for path in (ROOT / "tests/thirdparty/aworld-weather").rglob("*.py")]
    found = {item for source in sources for item in imports(source)}
    assert len(found) > 20
    assert not {(module, name) for module, name in found if name not in public().get(module, ())}


def test_every_link_on_the_page_leads_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    assert links and not set(links) - anchors


def test_the_example_by_hand_is_a_plugin(workbench: Venv, tmp_path: Path) -> None:
    assert len(FILES) == 4
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    workbench.pip_install(tmp_path / "aworld-dice")
    try:
        done = workbench.run("python", "-m", "aworld_cli", "run", "dice.yaml", "--json", cwd=tmp_path)
        counts = json.loads(done.stdout)["stages"][0]["counts"]
        assert (counts["correct"], counts["wrong"]) == (1, 1)
        script = (
            "from aworld_cli.testing import Conformance\n"
            "for check in Conformance('aworld-dice', recipe='dice.yaml').checks():\n    print(check)\n    check()\n"
        )
        (tmp_path / "check.py").write_text(script)
        said = workbench.run("python", "check.py", cwd=tmp_path).stdout
        assert "environment/dice: grades every answer" in said
    finally:
        workbench.run("python", "-m", "pip", "uninstall", "--yes", "--quiet", "aworld-dice", cwd=tmp_path)
