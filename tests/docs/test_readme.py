"""What README shows is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_recipe_explained_line_by_line_is_the_quickstart() -> None:
    text = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```yaml\n(aworld: 1.*?)```", text, re.DOTALL)
    assert yaml.safe_load(block) == yaml.safe_load((ROOT / "recipes/quickstart.yaml").read_text())


def test_every_file_that_readme_links_to_is_there() -> None:
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert links and not [link for link in links if not (ROOT / link).exists()]
