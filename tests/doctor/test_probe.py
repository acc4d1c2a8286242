"""Programs that doctor starts: what they say, and that nothing of them stays."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil
import pytest

from aworld_cli.doctor import ProbeError, import_probe, run_program, run_python


def test_the_last_line_is_the_answer() -> None:
    assert run_python("print('loading'); print('[1, \"a\"]')") == [1, "a"]
    assert run_python("pass") is None
    assert run_python("import os; print(os.environ['GIVEN'])", env={"GIVEN": "2"}) == 2


def test_a_failure_is_one_line() -> None:
    with pytest.raises(ProbeError, match=r"^ModuleNotFoundError: No module named 'no_such_module'$"):
        import_probe("json", "no_such_module")
    with pytest.raises(ProbeError, match=r"failed \(exit code 3\)"):
        run_python("raise SystemExit(3)")
    with pytest.raises(ProbeError, match=r"failed \(signal 9\)"):
        run_python("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ProbeError, match="its answer is no JSON: hello"):
        run_python("print('hello')")
    with pytest.raises(ProbeError, match="nothing-here cannot be started: No such file"):
        run_program(["/nothing-here"])


def test_modules_of_the_working_directory_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    import_probe("json")


def test_what_takes_too_long_is_killed_with_what_it_started(tmp_path: Path, no_strays: None) -> None:
    noted = tmp_path / "pid"
    code = "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; "
    code += f"time.sleep(60)']); open({str(noted)!r}, 'w').write(str(child.pid)); time.sleep(60)"
    started = time.monotonic()
    with pytest.raises(ProbeError, match=r"gave no answer within 1\.5 s"):
        run_python(code, timeout=1.5)
    assert time.monotonic() - started < 20
    grandchild = int(noted.read_text())
    for _ in range(100):  # init reaps it
        if not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    pytest.fail(f"{sys.executable} {grandchild} still runs")
