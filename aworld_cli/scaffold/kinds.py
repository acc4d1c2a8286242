"""What is special to each kind's template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aworld_cli.host.component import Kind

_CORE: Final = "aworld-cli>=0.1,<0.2"
_MCP: Final = "mcp>=2.3,<3"
_PYDANTIC: Final = "pydantic>=2.11,<3"
_TEST: Final = ("aworld-cli[testing]>=0.1,<0.2", "aworld-arithmetic>=0.1,<0.2")


@dataclass(frozen=True, slots=True)
class Template:
    """One kind's template.

    Args:
        a_kind: the kind with its article.
        summary: what the example does, in one line; of the component and of the distribution.
        needs: what the package depends on.
        tests_need: what its tests need beside that.
    """

    a_kind: str
    summary: str
    needs: tuple[str, ...] = (_CORE, _PYDANTIC)
    tests_need: tuple[str, ...] = _TEST


TEMPLATES: Final[dict[Kind, Template]] = {
    "model": Template("a model", "Adds up the numbers that it is told"),
    "tool": Template("a tool", "Counts the words of a text", needs=(_CORE, _MCP, _PYDANTIC)),
    "environment": Template("an environment", "Words to sort, graded by their places"),
    "agent": Template(
        "an agent", "Makes a plan, then works with tools", tests_need=(*_TEST, "aworld-toolbox>=0.1,<0.2")
    ),
    "runtime": Template("a runtime", "One episode at a time, in order"),
    "trainer": Template(
        "a trainer", "Copies the checkpoint it starts from", tests_need=(*_TEST, "aworld-local>=0.1,<0.2")
    ),
    "reporter": Template("a reporter", "Writes a table of the episodes as CSV"),
}
