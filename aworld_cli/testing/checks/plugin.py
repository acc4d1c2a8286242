"""What holds for every plugin: the host imports it at every start, so that must cost next to nothing."""

from __future__ import annotations

import importlib.metadata
import logging
from typing import Any

from aworld_cli.host import hooks as known
from aworld_cli.host.component import API_VERSION, Command, Component
from aworld_cli.host.loader import Plugin
from aworld_cli.reporter.audience import hook_reporters
from aworld_cli.testing.check import Check, require
from aworld_cli.testing.fresh import ask

logger = logging.getLogger(__name__)

#: What the module of an entry point must not import: each takes longer than all of `aworld --help` may.
HEAVY = (
    *("asyncio", "click", "jinja2", "pydantic", "pydantic_settings", "requests", "rich", "typer", "yaml"),
    *("PIL", "cv2", "datasets", "matplotlib", "numpy", "openpyxl", "pandas", "polars", "pyarrow", "scipy", "sklearn"),
    *("accelerate", "jax", "peft", "safetensors", "tensordict", "tensorflow", "tokenizers", "torch", "torchvision"),
    *("transformers", "triton", "trl", "verl", "sglang", "vllm", "ray", "hydra", "omegaconf", "tensorboard", "wandb"),
    *("aiohttp", "anthropic", "fastapi", "fsspec", "httpx", "huggingface_hub", "litellm", "mcp", "openai"),
    *("playwright", "sqlalchemy", "starlette", "uvicorn"),
)
#: Seconds of CPU time that loading should take, and that it must not take.
ADVISED, LONGEST = 0.05, 1.0


def checks(point: importlib.metadata.EntryPoint, plugin: Plugin) -> list[Check]:
    """Return the checks of the plugin as such."""
    answers: dict[str, Any] = {}

    def loaded() -> dict[str, Any]:
        if not answers:
            answers["answer"], answers["printed"] = ask({"do": "import", "name": point.name, "value": point.value})
        return answers

    return [
        Check("loads", lambda: _loads(point, plugin)),
        Check("import weight", lambda: _import_weight(point, loaded()["answer"])),
        Check("import is quiet", lambda: _quiet(point, loaded()["answer"], loaded()["printed"])),
        Check("components are lazy", lambda: _lazy(loaded()["answer"])),
        Check("offers something", lambda: _offers(plugin)),
    ]


def _loads(point: importlib.metadata.EntryPoint, plugin: Plugin) -> None:
    """Hooks, records, names and references are what the host knows."""
    require(
        plugin.status != "incompatible",
        f"{point.value} {plugin.reason}; write `aworld_api = {API_VERSION}` in it once it is made for that version",
    )
    require(plugin.status == "ok", f"{point.value} does not load: {plugin.reason}")


def _import_weight(point: importlib.metadata.EntryPoint, answer: dict[str, Any]) -> None:
    heavy = sorted({name for name in answer["modules"] if name in HEAVY})
    require(
        not heavy,
        f"{point.module} imports {', '.join(heavy)}, and so would every `aworld --help`; import nothing but "
        "aworld_cli.host there, and name factories and configs as 'module:attribute'",
    )
    seconds = answer["seconds"]
    require(
        seconds < LONGEST,
        f"loading {point.module} takes {seconds:.1f} s of CPU time; move what it computes into the factories",
    )
    if seconds > ADVISED:
        logger.warning("loading %s took %.0f ms of CPU time; 50 ms are advised", point.module, 1_000 * seconds)


def _quiet(point: importlib.metadata.EntryPoint, answer: dict[str, Any], printed: str) -> None:
    require(
        not printed, f"{point.module} prints to stdout when it is imported, which carries results only: {printed!r}"
    )
    require(not answer["threads"], f"{point.module} starts the thread {answer['threads']} when it is imported")
    require(not answer["children"], f"{point.module} starts a child process when it is imported")


def _lazy(answer: dict[str, Any]) -> None:
    eager = ", ".join(answer["eager"])
    require(not eager, f"loading the plugin imports {eager}, which it names as factory or config: drop that import")


def _offers(plugin: Plugin) -> None:
    for name, hook in sorted(vars(known).items()):
        own = getattr(plugin.module, name, None) if name.startswith("aworld_") and callable(hook) else None
        marked = own is None or hasattr(own, "aworld_impl")
        require(marked, f"{name} has no decorator @hookimpl (of aworld_cli.host), so nobody calls it")
    offered: list[Component | Command] = [*plugin.components, *plugin.commands]
    hooks = hook_reporters([(plugin.name, plugin.module)]) or hasattr(plugin.module, "aworld_checks")
    require(offered or hooks, "it offers no component, no command and no event hook: see aworld_cli.host.hookimpl")
    for item in offered:
        what = f"{getattr(item, 'kind', 'command')}/{item.name}"
        require(item.summary.strip(), f"{what}: has no summary; `aworld plugins` shows it: one line")
        require("\n" not in item.summary, f"{what}: its summary has more than one line")
