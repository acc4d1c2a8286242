"""Seeds derived from names, so that nothing random depends on the order in which things happen."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a seed in [0, 2**63) that depends on `seed` and on each of `names` (BLAKE2b of their joined text)."""
    text = "\x1f".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
