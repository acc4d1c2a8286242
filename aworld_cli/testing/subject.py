"""What is under test: one component of the plugin, with the options that the author gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from aworld_cli.errors import AWorldError, PluginError
from aworld_cli.host.component import Component
from aworld_cli.host.registry import Registered, describe
from aworld_cli.testing.check import Check, fail, skip


@dataclass(frozen=True, slots=True)
class Subject:
    """A component under test.

    Args:
        registered: the component, and the plugin that offers it.
        options: what the author gives for it; None for nothing.
        siblings: all components of the plugin, this one too: a model is asked about the plugin's own tasks.
    """

    registered: Registered
    options: Mapping[str, Any] | None = None
    siblings: Sequence[Subject] = field(default=(), repr=False, compare=False)

    @property
    def component(self) -> Component:
        """What the plugin says of it."""
        return self.registered.component

    @property
    def title(self) -> str:
        """`kind/name`."""
        return f"{self.component.kind}/{self.component.name}"

    def check(self, what: str, work: Callable[[Subject], None], seconds: float = 60.0) -> Check:
        """Return a check of this component."""
        return Check(f"{self.title}: {what}", lambda: work(self), seconds)

    def fail(self, text: str, cause: BaseException | None = None) -> NoReturn:
        """End the check with a text that begins with the component's name."""
        __tracebackhide__ = True
        fail(f"{self.title}: {text}", cause)

    def skip(self, text: str) -> NoReturn:
        """Skip the check with a text that begins with the component's name."""
        __tracebackhide__ = True
        skip(f"{self.title}: {text}")

    def require(self, holds: Any, text: str) -> None:
        """End the check unless something holds."""
        __tracebackhide__ = True
        if not holds:
            fail(f"{self.title}: {text}")

    def config_model(self) -> type[BaseModel]:
        """Return the model of its options; a check of its own tells what is wrong with it."""
        __tracebackhide__ = True
        try:
            return self.registered.config_model()
        except PluginError as error:
            fail(str(error), error)

    def config(self) -> BaseModel:
        """Return its options: the author's, or the defaults. Skips where options must be given and are not."""
        __tracebackhide__ = True
        model = self.config_model()
        try:
            return model.model_validate(dict(self.options or {}))
        except ValidationError as error:
            if self.options is None:
                first = error.errors()[0]
                key = ".".join(map(str, first["loc"]))
                skip(
                    f"{self.title}: has no defaults to run with ({key + ': ' if key else ''}{first['msg']}); pass "
                    f"Conformance(..., options={{{self.title!r}: {{...}}}}) to have its behaviour checked"
                )
            fail(f"{self.title}: the options given to Conformance do not fit: {error}", error)

    def make(self, *arguments: Any) -> Any:
        """Call its factory. Skips on a MachineError or another AWorldError, which says what is not there."""
        __tracebackhide__ = True
        config = self.config()
        try:
            factory = self.registered.factory()
            return factory(config, *arguments)
        except PluginError as error:
            fail(str(error), error)
        except AWorldError as error:
            skip(f"{self.title}: {error}")
        except (Exception, SystemExit) as error:
            fail(
                f"{self.title}: its factory raised {describe(error)}; what can go wrong is an AWorldError with the "
                "remedy (MachineError for what the machine lacks), options are checked by their model",
                error,
            )
