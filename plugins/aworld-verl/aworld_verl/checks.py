"""What `aworld doctor` looks at for this plugin: verl hides what goes wrong with the plugins that it loads.

A platform that failed to load costs verl one debug message, and the run then goes to another platform. So it is
loaded as the driver loads it, in a process of its own, and asked whether it is really ours.
"""

from __future__ import annotations

import importlib.metadata
import re

from aworld_cli.doctor import Finding, ProbeError, run_python

_ENVIRONMENT = {"VERL_PLATFORM": "cpu", "VERL_LOGGING_LEVEL": "ERROR", "RAY_USAGE_STATS_ENABLED": "0"}
_CODE = """
import importlib.metadata, json, os, sys, warnings
warnings.simplefilter("ignore")
policy = os.environ.get("VERL_USE_EXTERNAL_PLUGINS", "auto")
import verl
hidden = "aworld_verl.cpu.platform" not in sys.modules
if hidden:
    points = importlib.metadata.entry_points(group="verl.plugins")
    if "aworld_cpu" not in points.names:
        raise RuntimeError("verl does not find our entry point aworld_cpu; install aworld-verl again")
    if policy != "auto":
        raise RuntimeError(f"verl is told not to load it: VERL_USE_EXTERNAL_PLUGINS={policy}")
    import aworld_verl.cpu.platform  # raises what verl hid
    raise RuntimeError("verl did not load our platform while it was imported")
import aworld_verl.cpu.external  # checks the platform, registers engine and rollout
import aworld_verl.runner
from aworld_verl.cpu.constants import ROLLOUT_NAME
from verl.workers.rollout.replica import RolloutReplicaRegistry
print(json.dumps([verl.__version__, ROLLOUT_NAME]))
"""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^;\s]+)")


def platform() -> Finding:
    """Whether verl runs on our platform, engine and rollout."""
    try:
        version, rollout = run_python(_CODE, timeout=90, env=_ENVIRONMENT)
    except (ProbeError, TypeError, ValueError) as error:
        remedy = "pip install --force-reinstall aworld-verl; unset VERL_USE_EXTERNAL_PLUGINS where it is set"
        return Finding("error", f"verl does not run on our platform: {error}", remedy)
    return Finding("ok", f"verl {version} on our CPU platform, with our engine and rollout ({rollout})")


def versions() -> Finding:
    """Whether the packages that the trainer is built against have just the versions that it was run with."""
    wrong: list[str] = []
    right: list[str] = []
    for name, wanted in pins():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} {wanted} is not installed")
            continue
        if found == wanted:
            right.append(f"{name} {found}")
        else:
            wrong.append(f"{name} is {found}, not {wanted}")
    if wrong:
        exact = " ".join(f"{name}=={wanted}" for name, wanted in pins())
        return Finding("error", "; ".join(wrong), f"pip install {exact}")
    return Finding("ok", ", ".join(right))


def pins() -> list[tuple[str, str]]:
    """Return names and exact versions that this distribution asks for."""
    found = [_PIN.match(requirement) for requirement in importlib.metadata.requires("aworld-verl") or ()]
    return [(match[1], match[2]) for match in found if match]
