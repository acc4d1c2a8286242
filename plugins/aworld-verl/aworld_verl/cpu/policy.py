"""The policy that samples, in the trainer's own process: an engine and its weight version."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from aworld_verl.cpu import weights

_current: LocalPolicy | None = None


class LocalPolicy:
    """Builds the engine in a thread as soon as it is made, and loads published weights into it."""

    def __init__(self, model_path: str, weights_dir: Path, *, threads: int, max_batch: int, verify: bool) -> None:
        self._model_path = model_path
        self._weights_dir = weights_dir
        self._verify = verify
        self._engine: Future[Any] = Future()
        self.version = -1
        self.sha256 = ""
        self.load_seconds = 0.0
        build = threading.Thread(target=self._build, args=(threads, max_batch), name="policy-build", daemon=True)
        build.start()

    def _build(self, threads: int, max_batch: int) -> None:
        try:
            from aworld_local.engine import Engine

            self._engine.set_result(Engine(self._model_path, threads=threads, max_batch=max_batch))
        except BaseException as error:
            self._engine.set_exception(error)

    @property
    def engine(self) -> Any:
        """The engine; waits until it is built and raises what building it raised."""
        return self._engine.result()

    def load(self, version: int) -> None:
        """Serve exactly weight version `version` from now on; RuntimeError if it is not published."""
        if version == self.version:
            return
        start = time.monotonic()
        try:
            tensors, sha256 = weights.fetch(self._weights_dir, version)
        except FileNotFoundError:
            raise RuntimeError(f"the trainer did not publish weight version {version}") from None
        self.engine.load_weights(tensors.items())
        if self._verify:
            self._check(tensors, sha256)
        self.version, self.sha256 = version, sha256
        self.load_seconds = time.monotonic() - start

    def _check(self, tensors: dict[str, Any], sha256: str) -> None:
        """Compare what the engine now holds with what the trainer had, bit for bit."""
        state = getattr(getattr(self.engine, "model", None), "state_dict", None)
        held = {n: t for n, t in state().items() if n in tensors} if state is not None else tensors
        if weights.digest(held.items()) != sha256:
            raise RuntimeError("the sampler's weights differ from the trainer's after a sync")

    def close(self) -> None:
        """Stop the engine, if it was built."""
        if self._engine.done() and self._engine.exception() is None:
            asyncio.run(self.engine.close())


def start(model_path: str, weights_dir: Path, *, threads: int, max_batch: int, verify: bool) -> LocalPolicy:
    """Start building this process's policy; it replaces an earlier one."""
    global _current
    _current = LocalPolicy(model_path, weights_dir, threads=threads, max_batch=max_batch, verify=verify)
    return _current


def current() -> LocalPolicy | None:
    """This process's policy, if it was started here."""
    return _current
