"""A tiny policy that the tests of aworld-local share."""

from __future__ import annotations

from pathlib import Path

import pytest

from aworld_arithmetic.environment import ArithmeticConfig, arithmetic
from aworld_local.policy import create_policy


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that knows the arithmetic environment's tokens, and nothing else. Never written to."""
    path = tmp_path_factory.mktemp("policy") / "hf"
    corpus = arithmetic(ArithmeticConfig()).corpus()
    create_policy(path, seed=0, corpus=corpus, hidden=32, layers=2, heads=2, vocabulary=400)
    return path
