"""Programs that tools need: the sandbox, node, a browser. Nothing is ever downloaded."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from aworld_cli.doctor.base import Finding
from aworld_cli.doctor.probe import ProbeError, run_program

NODE_WANTED = 18
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_IN_REGISTRY = ("chromium-*/chrome-*/chrome", "chromium_headless_shell-*/*/headless_shell", "chromium-*/*/*.app/*/*/*")


def sandbox() -> Finding:
    """Whether bubblewrap is there and may make namespaces."""
    program = shutil.which("bwrap")
    if program is None:
        remedy = "apt install bubblewrap; without it code and terminal tools start only with `sandbox: none`"
        return Finding("missing", "bubblewrap (bwrap) is not installed", remedy)
    try:
        run_program([program, "--unshare-all", "--ro-bind", "/", "/", "true"])
    except ProbeError as error:
        remedy = "allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1, or for AppArmor "
        remedy += "kernel.apparmor_restrict_unprivileged_userns=0; in docker --security-opt seccomp=unconfined"
        return Finding("error", f"{program} does not work: {error}", remedy)
    root = "; this is root: tools drop to another user first" if os.geteuid() == 0 else ""
    return Finding("ok", f"{program} works{root}")


def node() -> Finding:
    """Node.js, which tool servers written in JavaScript need."""
    program = shutil.which("node")
    if program is None:
        return Finding("missing", "node is not installed", "install Node.js for tool servers that are started by npx")
    try:
        version = run_program([program, "--version"]).strip()
    except ProbeError as error:
        return Finding("error", f"{program} does not work: {error}", "install Node.js again")
    npx = "" if shutil.which("npx") else ", without npx"
    major = re.match(r"v?(\d+)", version)
    if major is None or int(major[1]) < NODE_WANTED:
        return Finding("warning", f"{version} at {program}{npx}", f"install Node.js {NODE_WANTED} or newer")
    return Finding("ok", f"{version} at {program}{npx}")


def browser() -> Finding:
    """Chromium, as Playwright installed it or on PATH; it is made to show an empty page."""
    program = find_browser()
    if program is None:
        remedy = "playwright install chromium (needed by web tools only)"
        return Finding("missing", "no Chromium, neither Playwright's nor on PATH", remedy)
    with tempfile.TemporaryDirectory(prefix="aworld-doctor-") as profile:
        command = [program, "--headless", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            page = run_program([*command, "--dump-dom", "about:blank"], timeout=20)
        except ProbeError as error:
            return Finding("error", f"{program} does not start: {error}", "playwright install-deps chromium")
    if "<html" not in page.lower():
        return Finding("error", f"{program} shows no page", "playwright install chromium")
    return Finding("ok", f"{program} shows a page")


def find_browser() -> str | None:
    """Return the newest Chromium in Playwright's registry, else the first on PATH."""
    for registry in _registries():
        found = [path for pattern in _IN_REGISTRY for path in registry.glob(pattern) if os.access(path, os.X_OK)]
        if found:
            return str(max(found, key=lambda path: _revision(path.relative_to(registry).parts[0])))
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def _registries() -> list[Path]:
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if given and given != "0":
        return [Path(given)]
    if given == "0":  # beside the package
        from importlib.util import find_spec

        spec = find_spec("playwright")
        where = spec.submodule_search_locations if spec is not None else None
        return [Path(where[0], "driver", "package", ".local-browsers")] if where else []
    try:
        home = Path.home()
    except RuntimeError:
        return []
    if sys.platform == "darwin":
        return [home / "Library" / "Caches" / "ms-playwright"]
    return [Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ms-playwright"]


def _revision(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0
