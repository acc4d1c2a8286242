"""`python -m aworld_local.worker`: the process that owns PyTorch.

Requests come on stdin, answers leave on the descriptor that stdout was; what anything prints goes to stderr. When stdin
ends, the parent is gone or has had enough, and the process ends at once.

A request is a dict with `id` and `do`; an answer has the same `id` and `result` or `error`. `generate` carries many
prompts at once, which are answered one by one, several to a message.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aworld_local.wire import HEADER, pack, unpack

if TYPE_CHECKING:
    from aworld_local.engine import Engine

_PROGRESS_SECONDS = 0.2


class Worker:
    """Serves one parent. A reader thread takes requests, the main thread works, a writer thread answers."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self.source = source
        self.sink = sink
        self.engine: Engine | None = None
        self.work: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def serve(self) -> None:
        """Work until stdin ends (the reader then ends the process)."""
        for target in (self._read, self._write):
            threading.Thread(target=target, daemon=True).start()
        while True:
            request = self.work.get()
            try:
                result = getattr(self, f"do_{request['do']}")(request["id"], **request["arguments"])
                self.answers.put({"id": request["id"], "result": result})
            except Exception as error:
                traceback.print_exc()
                self.answers.put({"id": request["id"], "error": f"{type(error).__name__}: {error}"})

    # -- what can be asked ----------------------------------------------------------------------------------------

    def do_load(self, request: int) -> None:
        """Import what takes long."""
        import torch
        import transformers.models.llama.modeling_llama  # noqa: F401

        from aworld_local import engine  # noqa: F401

        torch.set_num_threads(1)

    def do_create(self, request: int, path: str, corpus: list[str], **options: int) -> None:
        """Make a policy."""
        from aworld_local.policy import create_policy

        create_policy(Path(path), corpus=corpus, **options)

    def do_open(self, request: int, path: str, threads: int, max_batch: int) -> None:
        """Load a checkpoint into the engine."""
        from aworld_local.engine import Engine

        if self.engine is not None:
            self.engine.stop()
        self.engine = Engine(path, threads=threads, max_batch=max_batch)

    def do_fine_tune(
        self, request: int, path: str, output: str, examples: list[Any], settings: dict[str, Any]
    ) -> dict[str, float]:
        """Fine-tune a checkpoint."""
        from aworld_local.sft import SftSettings, fine_tune

        if self.engine is not None:
            self.engine.stop()
            self.engine = None
        said = 0.0

        def report(step: int, loss: float) -> None:
            nonlocal said
            now = time.monotonic()
            if now - said >= _PROGRESS_SECONDS:
                said = now
                self.answers.put({"id": request, "progress": (step, loss)})

        return fine_tune(Path(path), Path(output), examples, SftSettings(**settings), report)

    def _generate(self, requests: list[dict[str, Any]]) -> None:
        for request in requests:
            number = request.pop("id")

            def done(result: Any, number: int = number) -> None:
                if isinstance(result, Exception):
                    kind = type(result).__name__
                    self.answers.put({"id": number, "error": f"{kind}: {result}", "kind": kind})
                else:
                    self.answers.put({"id": number, "result": (result.ids, result.logprobs, result.stop_reason)})

            try:
                if self.engine is None:
                    raise RuntimeError("no checkpoint is open")
                self.engine.submit(request.pop("prompt_ids"), done, **request)
            except Exception as error:
                done(error)

    # -- the pipes ------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        while header := self.source.read(HEADER.size):
            message = unpack(self.source.read(HEADER.unpack(header)[0]))
            if message["do"] == "generate":
                self._generate(message["requests"])
            else:
                self.work.put(message)
        os._exit(0)

    def _write(self) -> None:
        while True:
            answers = [self.answers.get()]
            while True:
                try:
                    answers.append(self.answers.get_nowait())
                except queue.Empty:
                    break
            self.sink.write(pack(answers))
            self.sink.flush()


def main() -> None:
    """Divert stdout, so that no print can break the protocol, and serve."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr
    Worker(source, sink).serve()


if __name__ == "__main__":
    main()
