"""`aworld plugins install` and `uninstall`: pip's work, and what came or went.

No plugin is loaded in this process: a broken one must not keep a person from removing it, and what is new can only be
seen by a fresh one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from aworld_cli.cli import output
from aworld_cli.errors import MachineError, UsageError
from aworld_cli.host.installer import Installed, distributions_to_remove, installed, run_installer
from aworld_cli.host.scan import canonical, scan


def install_plugins(arguments: Sequence[str], *, as_json: bool) -> None:
    """Install, and write a line for each plugin and what it offers.

    Args:
        arguments: what pip's `install` takes.

    Raises:
        MachineError: pip failed, or there is none.
    """
    before = installed()
    run_installer("install", arguments, output.say)
    after = installed()
    changed = [entry for where, (entry, stamp) in after.items() if before.get(where, (None, -1))[1] != stamp]
    if not changed:
        output.say("Nothing changed.")
        return
    _warn_of_strangers(changed)
    names = {canonical(entry.name) for entry in changed}
    rows = [row for row in _rows_of_a_fresh_process() if canonical(row["distribution"]) in names]
    for row in rows:
        if as_json:
            output.result_json(row)
        else:
            reason = f": {row['reason']}" if row["reason"] else ""
            output.result(
                f"{row['kind']} {row['name']} of {row['distribution']} {row['version']}: {row['status']}{reason}"
            )


def _warn_of_strangers(changed: Sequence[Installed]) -> None:
    """Say which of the distributions that were asked for are no plugins."""
    ours = {canonical(item.distribution) for item in scan()}
    for entry in changed:
        if entry.asked and canonical(entry.name) not in ours:
            output.warning(
                f"{entry.name} {entry.version} is installed, but it is no AWorld plugin: "
                "it has no entry point in the group `aworld`"
            )


def _rows_of_a_fresh_process() -> list[dict[str, Any]]:
    command = [sys.executable, "-P", "-m", "aworld_cli", "plugins", "list", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        output.say(done.stderr.rstrip())
        output.warning(f"what it offers cannot be listed: `aworld plugins` ends with exit code {done.returncode}")
        return []
    return [json.loads(line) for line in done.stdout.splitlines()]


def uninstall_plugins(arguments: Sequence[str]) -> None:
    """Uninstall, and write a line for each plugin that went.

    Args:
        arguments: names of plugins or distributions, and options for pip.

    Raises:
        UsageError: no name is given, or one means AWorld itself, or several distributions.
        PluginError: a name means nothing that is installed.
        MachineError: pip failed, or there is none.
    """
    options = [argument for argument in arguments if argument.startswith("-") and argument not in ("-y", "--yes")]
    names = [argument for argument in arguments if not argument.startswith("-")]
    if not names:
        raise UsageError("name a plugin or a distribution, as `aworld plugins` lists it")
    distributions = distributions_to_remove(names)
    gone = [item for item in scan() if item.distribution in distributions]
    run_installer("uninstall", [*options, *distributions], output.say)
    left = {(item.distribution, item.name) for item in scan()}
    for item in gone:
        if (item.distribution, item.name) not in left:
            output.result(f"uninstalled: plugin {item.name} of {item.distribution} {item.version}")
    still = sorted({item.distribution for item in gone if (item.distribution, item.name) in left})
    if still:  # pip takes this for done
        where = " and ".join(sorted({item.metadata for item in gone if item.distribution in still}))
        raise MachineError(f"pip left {', '.join(still)} where it is, outside of this Python's environment: {where}")
