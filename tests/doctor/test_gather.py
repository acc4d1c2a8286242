"""Checks are on their own: one that crashes, hangs or lies costs its line."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from aworld_cli.doctor.base import Finding, Result
from aworld_cli.doctor.core import CHECKS
from aworld_cli.doctor.gather import Job, installation, jobs, take
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from tests.conftest import AddPlugin


def test_results_come_in_order_whatever_a_check_does() -> None:
    def slow() -> Finding:
        time.sleep(0.2)
        return Finding("ok", "slow")

    def lies() -> Finding:
        return "fine"  # type: ignore[return-value]

    def exits() -> Finding:
        raise SystemExit("bye")

    waiting = [Job("slow", slow), Job("crash", lambda: Finding(*[])), Job("exits", exits), Job("lies", lies, True)]
    found = list(take(waiting))
    assert [result.name for result in found] == ["slow", "crash", "exits", "lies"]
    assert [result.finding.status for result in found] == ["ok", "unknown", "unknown", "unknown"]
    assert found[2].finding.detail == "the check failed: SystemExit: bye"
    assert "gave a str, not a Finding" in found[3].finding.detail and found[3].required


def test_a_check_that_hangs_is_unknown() -> None:
    hold = threading.Event()
    job = Job("hangs", lambda: Finding("ok", str(hold.wait())))
    try:
        found = list(take([job, Job("quick", lambda: Finding("ok", "here"))], seconds=0.3))
    finally:
        hold.set()
    assert [result.finding.status for result in found] == ["unknown", "ok"]
    assert found[0].finding.detail == "no answer within 0.3 s"


def test_what_prevents_a_recipe() -> None:
    for status, prevents in (("ok", False), ("warning", False), ("missing", True), ("error", True), ("unknown", False)):
        assert Result("x", Finding(status, ""), required=True).prevents is prevents  # type: ignore[arg-type]
        assert not Result("x", Finding(status, "")).prevents  # type: ignore[arg-type]


PLUGIN = """
from aworld_cli.host import Check, hookimpl
from aworld_cli.doctor import Finding
aworld_api = 1
@hookimpl
def aworld_checks():
    return [
        Check("mine", "mine", __name__ + ":mine"),
        Check("extra", "extra", __name__ + ":mine", ("tool/special",)),
        Check("advice", "advice", __name__ + ":mine", ()),
        Check("absent", "absent", "no_such_module:check"),
    ]
def mine():
    return Finding("warning", "seen", "do this")
"""


def test_a_plugins_checks_and_who_needs_them(
    add_plugin: AddPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_plugin("mine", PLUGIN)
    add_plugin(
        "broken", "from aworld_cli.host import hookimpl\naworld_api = 1\n@hookimpl\ndef aworld_checks(): return [1]"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    registry = Registry(load_plugins())

    def needed(*used: tuple[str, str]) -> list[str]:
        return [job.name for job in jobs(registry, used) if job.required and job.name not in core]

    core = {check.name for check in CHECKS}
    assert needed() == []
    assert needed(("aworld-mine", "tool/other")) == ["mine", "absent"]
    assert needed(("aworld-mine", "tool/special")) == ["mine", "extra", "absent"]
    own = [job for job in jobs(registry) if job.name in ("mine", "absent", "checks of broken")]
    found = {result.name: result.finding for result in take(own)}
    assert found["mine"] == Finding("warning", "seen", "do this")
    assert found["absent"].status == "unknown" and "ModuleNotFoundError" in found["absent"].detail
    assert "aworld_checks failed: TypeError: it returned a int, not a Check" in found["checks of broken"].detail


def test_plugins_that_did_not_load(add_plugin: AddPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_plugin("bad", "import no_such_module")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    found = {result.name: result.finding for result in installation(Registry(load_plugins(disabled=["local"])))}
    assert found["aworld"].status == "ok"
    assert found["plugins"].detail.endswith("; disabled: local")
    assert found["plugin bad"].status == "error"
    assert found["plugin bad"].detail.startswith("aworld-bad 1.0 is failed: ModuleNotFoundError")
    assert "pip uninstall" in found["plugin bad"].remedy


def test_every_core_check_gives_a_finding_here() -> None:
    registry = Registry(load_plugins(builtin_only=True))
    found = list(take(jobs(registry)))
    assert [result.name for result in found] == [check.name for check in CHECKS]
    assert not [result for result in found if result.finding.status == "unknown"]
    assert not [result for result in found if result.finding.status != "ok" and not result.finding.remedy]


def test_every_check_of_ours_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "machine.md").read_text()
    others = {"mcp", "local engine", "verl", "verl versions"}
    names = {job.name for job in jobs(Registry(load_plugins())) if job.name in others} | {c.name for c in CHECKS}
    assert names >= others
    assert not [name for name in sorted(names) if f"`{name}`" not in page]
