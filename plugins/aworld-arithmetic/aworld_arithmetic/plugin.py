"""What this plugin offers. The host imports this module at every start, so it imports nothing but the host."""

from __future__ import annotations

from aworld_cli.host import Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the environment and the teacher."""
    return [
        Component(
            kind="environment",
            name="arithmetic",
            summary="Integer sums and differences, graded exactly",
            factory="aworld_arithmetic.environment:arithmetic",
            config="aworld_arithmetic.environment:ArithmeticConfig",
        ),
        Component(
            kind="model",
            name="arithmetic-teacher",
            summary="Solves arithmetic tasks by a script, with the calculator or without: demonstrations",
            factory="aworld_arithmetic.teacher:arithmetic_teacher",
            config="aworld_arithmetic.teacher:TeacherConfig",
        ),
    ]
