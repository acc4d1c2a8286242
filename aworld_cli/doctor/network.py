"""Ports of this machine, proxies, and whether an endpoint accepts connections."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from aworld_cli.doctor.base import Finding

#: What `ray start --head` takes unless told otherwise.
RAY_PORTS = {6379: "Ray's head, or Redis", 8265: "Ray's dashboard"}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 3.0


def ports() -> Finding:
    """Whether a port of the loopback interface can be had, and who holds Ray's."""
    try:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            socket.create_connection(server.getsockname(), timeout=_SECONDS).close()
    except OSError as error:
        remedy = "bring the loopback interface up (ip link set lo up), or allow it in the container"
        return Finding("error", f"127.0.0.1 cannot be used: {error.strerror or error}", remedy)
    taken = [f"{port} ({owner})" for port, owner in RAY_PORTS.items() if _accepts("127.0.0.1", port, 0.5)]
    if taken:
        remedy = "nothing to do unless you start a Ray head yourself: give it another --port, or `ray stop` the old one"
        return Finding("warning", f"127.0.0.1 works; taken: {', '.join(taken)}", remedy)
    return Finding("ok", f"127.0.0.1 works; {' and '.join(map(str, RAY_PORTS))} (Ray's) are free")


def proxies() -> Finding:
    """Which proxy variables are set, by name; a proxy must leave this machine's own servers alone."""
    names = [name for name in ("http_proxy", "https_proxy", "all_proxy") for name in (name, name.upper())]
    given = [name for name in names if os.environ.get(name)]
    if not given:
        return Finding("ok", "none")
    excluded = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = {host.strip() for host in excluded.split(",")}
    if "*" in hosts or "localhost" in hosts or "127.0.0.1" in hosts:
        return Finding("ok", f"{', '.join(given)} set")
    remedy = "export no_proxy=localhost,127.0.0.1"
    return Finding("warning", f"{', '.join(given)} set, and no_proxy does not name localhost", remedy)


def endpoint(url: str, shown: str) -> Finding:
    """Whether what answers `url` accepts a TCP connection: the host itself, or the proxy that leads to it.

    Args:
        url: with its scheme.
        shown: what to call it.
    """
    try:
        parts = urlsplit(url)
        host, port, scheme = parts.hostname, parts.port, parts.scheme
    except ValueError as error:
        return Finding("error", f"{shown}: {error}", "correct the URL")
    if not host:
        return Finding("error", f"{shown}: no host in it", "correct the URL")
    way = ""
    proxy = None if host in _LOOPBACK or proxy_bypass(host) else getproxies().get(scheme)
    if proxy:
        way = f" (by the proxy of {scheme}_proxy)"
        parts = urlsplit(proxy)
        host, port, scheme = parts.hostname or "", parts.port, parts.scheme
    try:
        socket.create_connection((host, port or (443 if scheme == "https" else 80)), timeout=_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error) or "no answer"
        remedy = "start the server, or correct the URL; behind a proxy set https_proxy"
        return Finding("error", f"{shown} accepts no connection{way}: {why}", remedy)
    return Finding("ok", f"{shown} accepts connections{way}")


def _accepts(host: str, port: int, seconds: float) -> bool:
    try:
        socket.create_connection((host, port), timeout=seconds).close()
    except OSError:
        return False
    return True
