"""docs/reference.md says what the code does, and says something of every option."""

from __future__ import annotations

from docs.make_reference import COMMANDS, TARGET, components, reference, undescribed


def test_the_page_is_current() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), "run: python docs/make_reference.py"


def test_every_public_option_has_a_description() -> None:
    assert undescribed() == []


def test_the_page_names_every_component_and_command() -> None:
    text = TARGET.read_text(encoding="utf-8")
    for item in components():
        assert f"### {item.component.kind} `{item.component.name}`\n" in text
    for command in COMMANDS:
        assert f"Usage: aworld {command}".rstrip() in text
