"""What the shell's completion offers for names of plugins and components.

Whatever goes wrong, nothing is printed: a person is in the middle of typing.
"""

from __future__ import annotations

from collections.abc import Callable

from aworld_cli.host.containment import silence

Offered = list[tuple[str, str]]


def complete_installed(incomplete: str) -> Offered:
    """Return the plugins and distributions beside AWorld's own whose name begins so; no plugin is loaded."""
    return _begin(incomplete, lambda: _installed(own=False))


def complete_component(incomplete: str) -> Offered:
    """Return the components whose name begins so, `KIND/NAME` too; the plugins' modules are loaded."""
    return _begin(incomplete, lambda: _components(with_kind="/" in incomplete))


def complete_shown(incomplete: str) -> Offered:
    """Return what `aworld plugins show` takes: components, plugins and distributions."""
    return _begin(incomplete, lambda: _components(with_kind="/" in incomplete) + _installed())


def _begin(incomplete: str, source: Callable[[], Offered]) -> Offered:
    try:
        with silence():
            known: dict[str, list[str]] = {}
            for name, about in source():
                known.setdefault(name, []).append(about)
    except Exception:  # see the module's text
        return []
    return [(name, "; ".join(known[name])) for name in sorted(known) if name.startswith(incomplete)]


def _installed(*, own: bool = True) -> Offered:
    from aworld_cli.host.scan import OWN, canonical, scan

    found = [item for item in scan() if own or canonical(item.distribution) != OWN]
    plugins = [(item.name, f"plugin of {item.distribution} {item.version}") for item in found]
    return plugins + sorted({(item.distribution, f"distribution, {item.version}") for item in found})


def _components(*, with_kind: bool) -> Offered:
    from aworld_cli.cli.state import state

    found = state.registry().components()
    if with_kind:
        return [
            (f"{owner}/{item.component.name}", item.component.summary)
            for item in found
            for owner in (item.component.kind, item.plugin.distribution)
        ]
    return [(item.component.name, f"{item.component.kind}: {item.component.summary}") for item in found]
