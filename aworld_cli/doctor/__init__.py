"""`aworld doctor`: what a check gives, and helpers for checks. Plugins offer checks by the hook `aworld_checks`."""

from aworld_cli.doctor.base import Finding, Status
from aworld_cli.doctor.probe import ProbeError, import_probe, run_program, run_python

__all__ = ["Finding", "ProbeError", "Status", "import_probe", "run_program", "run_python"]
