"""The core's own checks, offered by the same hook as everyone else's."""

from __future__ import annotations

from aworld_cli.host.component import Check

_HERE = "aworld_cli.doctor"

CHECKS: tuple[Check, ...] = (
    Check("python", "The interpreter's version and place", f"{_HERE}.python:python"),
    Check("script", "Whose `aworld` the shell finds", f"{_HERE}.python:script", ()),
    Check("config", "config.toml and the AWORLD_* variables", f"{_HERE}.places:config"),
    Check("runs directory", "Whether runs can be written", f"{_HERE}.places:runs_directory"),
    Check("disk", "Room for runs", f"{_HERE}.places:disk"),
    Check("cores", "Cores, and a container's quota", f"{_HERE}.machine:cores", ()),
    Check("memory", "Memory, and a container's limit", f"{_HERE}.machine:memory", ()),
    Check("shared memory", "Room in /dev/shm", f"{_HERE}.machine:shared_memory", ()),
    Check("limits", "Open files and processes", f"{_HERE}.machine:limits", ()),
    Check("ports", "The loopback interface, and Ray's ports", f"{_HERE}.network:ports", ()),
    Check("proxy", "Proxy variables, by name", f"{_HERE}.network:proxies", ()),
    Check("keys", "Keys of common services, by name", f"{_HERE}.keys:keys", ()),
    Check("sandbox", "Whether bubblewrap works", f"{_HERE}.programs:sandbox", ()),
    Check("node", "Node.js", f"{_HERE}.programs:node", ()),
    Check("browser", "Chromium", f"{_HERE}.programs:browser", ()),
    Check("torch", "PyTorch's version and build", f"{_HERE}.packages:torch", ()),
    Check("cuda", "NVIDIA's driver, and PyTorch's view of it", f"{_HERE}.packages:cuda", ()),
    Check("ray", "Ray's version", f"{_HERE}.packages:ray", ()),
    Check("sglang", "SGLang's version", f"{_HERE}.packages:sglang", ()),
)
