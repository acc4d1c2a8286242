"""How often a batched engine's last digits flip a token: one policy, the same seeds, concurrency 1 and 256.

    python benchmarks/determinism.py runs/RUN [--checkpoint sft] [--tasks 512] [--samples 4]

The run is a finished quickstart; its recipe's evaluation is repeated with the policy of the given stage.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml


def collect(recipe: dict[str, Any], concurrency: int, folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Run the recipe and return its records by task and sample."""
    path = folder / f"c{concurrency}.yaml"
    path.write_text(yaml.safe_dump({**recipe, "runtime": {"kind": "local", "concurrency": concurrency}}))
    runs = folder / f"c{concurrency}"
    subprocess.run(
        [sys.executable, "-m", "aworld_cli", "run", str(path), "--json", "--runs-dir", str(runs)], check=True
    )
    (journal,) = runs.glob("*/stages/*/trajectories.jsonl")
    records = map(json.loads, journal.read_text().splitlines())
    return {(record["episode"]["task"], record["episode"]["sample"]): record for record in records}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--checkpoint", default="sft")
    parser.add_argument("--tasks", type=int, default=512)
    parser.add_argument("--samples", type=int, default=4)
    given = parser.parse_args()
    recipe = json.loads((given.run / "lock.json").read_text())["recipe"]
    recipe["model"] = {"kind": "local", "path": str((given.run / "checkpoints" / given.checkpoint / "hf").resolve())}
    recipe["stages"] = [{"eval": {"split": "test", "tasks": given.tasks, "samples": given.samples, "k": [1]}}]
    with tempfile.TemporaryDirectory() as folder:
        one, many = (collect(recipe, concurrency, Path(folder)) for concurrency in (1, 256))
    assert one.keys() == many.keys()
    ids = sum(
        [s["response_ids"] for s in one[key]["sequences"]] != [s["response_ids"] for s in many[key]["sequences"]]
        for key in one
    )
    pairs = [
        abs(a - b)
        for key in one
        for left, right in zip(one[key]["sequences"], many[key]["sequences"], strict=True)
        if left["response_ids"] == right["response_ids"]
        for a, b in zip(left["logprobs"], right["logprobs"], strict=True)
    ]
    print(f"episodes: {len(one)}; with a different token: {ids}")
    print(f"largest difference of a log-probability where the tokens are equal: {max(pairs):.1e}")


if __name__ == "__main__":
    main()
