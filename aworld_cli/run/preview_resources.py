"""The part of `--dry-run` on processes, ports, GPUs and limits, and on what cannot be known before a start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aworld_cli.recipe.environment import dotted
from aworld_cli.recipe.plan import Plan
from aworld_cli.resources import ProcessPlan
from aworld_cli.run.check import tool_server
from aworld_cli.run.masking import Mask
from aworld_cli.run.needs import Need


class ResourcePreview:
    """Puts together what the components of a plan say of themselves."""

    def __init__(self, plan: Plan, needs: Sequence[Need], mask: Mask) -> None:
        self._plan = plan
        self._needs = needs
        self._mask = mask
        self._servers = [tool_server(tool) for tool in plan.tools]
        self._processes = self._merged()

    def show(self) -> dict[str, Any]:
        """Return the sections as plain values."""
        resources = [(need.place, need.resources) for need in self._needs]
        endpoints = dict.fromkeys(url for _, found in resources for url in found.endpoints)
        return {
            "processes": [self._process(process, users) for process, users in self._processes],
            "ports": {place: list(found.ports) for place, found in resources if found.ports} or "none",
            "gpus": {place: found.gpus for place, found in resources if found.gpus} or 0,
            "ray": {place: dict(found.ray) for place, found in resources if found.ray} or "none",
            "endpoints": self._mask.hide(list(endpoints)) or "none",
            "limits": self._limits(),
            "warnings": self._warnings(),
            "not checked": self._unchecked(bool(endpoints)),
        }

    def _merged(self) -> list[tuple[ProcessPlan, list[str]]]:
        """Return the processes and whose they are; what two components share is there once."""
        again = [need.place for need in self._needs if need.resources.tool_servers]
        found: dict[tuple[str, tuple[str, ...]], tuple[ProcessPlan, list[str]]] = {}
        for server in self._servers:
            plan = ProcessPlan(f"tool server {server.name}", (server.command, *server.args), count=1 + len(again))
            found[plan.name, plan.command] = (plan, ["collecting stages", *again])
        for need in self._needs:
            for process in need.resources.processes:
                key = (process.name, process.command)
                known, users = found.get(key, (replace(process, count=0), []))
                count = max(known.count, process.count) if process.shared else known.count + process.count
                both = replace(known, threads=max(known.threads, process.threads), count=count)
                found[key] = (both, [*users, need.place])
        return list(found.values())

    def _process(self, process: ProcessPlan, users: list[str]) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": self._mask.hide(process.name), "count": process.count}
        if process.command:
            shown["command"] = " ".join(self._mask.hide(list(process.command)))
        if process.threads:
            shown["threads"] = process.threads
        if process.note:
            shown["note"] = process.note
        return shown | {"for": users}

    def _limits(self) -> dict[str, Any]:
        """Return the options that bound time, tries and numbers, by their key in the recipe."""
        found: dict[str, Any] = {"sampling.max_tokens": self._value(("sampling", "max_tokens"), self._plan.recipe)}
        for need in self._needs:
            for option in need.resources.limits:
                path = (*need.chosen.path, option)
                value = self._mask.overlay(getattr(need.chosen.config, option, None), path)
                found[dotted(path)] = "none" if value is None else value
        return found

    def _value(self, path: tuple[str, str], recipe: Any) -> Any:
        return self._mask.overlay(getattr(getattr(recipe, path[0]), path[1]), path)

    def _warnings(self) -> list[str]:
        """Return what looks wrong on this machine and can be seen at once; `aworld doctor RECIPE` looks closer."""
        found: list[str] = []
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        for process, _ in self._processes:
            if process.threads > cores:
                found.append(f"{process.name}: {process.threads} threads compute, this machine has {cores} cores")
        for server in self._servers:
            command = server.command
            if server.cwd is not None and os.sep in command:
                command = os.path.join(server.cwd, command)  # noqa: PTH118 (an absolute command stays as it is)
            if shutil.which(command, path=server.env.get("PATH")) is None:
                found.append(f"tool server {server.name}: the program {server.command} is not found")
        if any(need.resources.gpus for need in self._needs) and shutil.which("nvidia-smi") is None:
            found.append("GPUs are asked for, and no NVIDIA driver is seen (no nvidia-smi)")
        return [str(text) for text in self._mask.hide(found)]

    def _unchecked(self, endpoints: bool) -> list[str]:
        found = ["memory and disk space (`aworld doctor` looks)"]
        if endpoints:
            found.append("whether endpoints answer (`aworld doctor RECIPE` connects to them)")
        if self._servers:
            found.append("whether tool servers start, and which tools they offer")
        for need in self._needs:
            if not need.known:
                found.append(f"what {need.chosen.title} ({need.place}) starts and uses: it does not say")
            found += [f"{need.place}: {text}" for text in need.resources.unknown]
        return [str(text) for text in self._mask.hide(list(dict.fromkeys(found)))]
