"""The quickstart for several seeds, and a control whose rewards are shuffled, which must not learn.

    python benchmarks/quickstart.py --seeds 0 1 2 --control 0 --json results.json

Memory is the sum of the proportional set sizes of every process of a run, sampled once a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

RECIPE = Path(__file__).parents[1] / "recipes" / "quickstart.yaml"


class MemoryWatch(threading.Thread):
    """Samples the memory of all processes whose environment holds a marker."""

    def __init__(self, marker: str) -> None:
        super().__init__(daemon=True)
        self.marker = marker.encode()
        self.peak = 0.0
        self.processes = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(1.0):
            sizes = [size for size in map(self._size, Path("/proc").iterdir()) if size]
            if sum(sizes) > self.peak:
                self.peak, self.processes = sum(sizes), len(sizes)

    def _size(self, process: Path) -> float:
        """Return a process's proportional set size in GB, 0 when it is not ours or gone."""
        try:
            if not process.name.isdigit() or self.marker not in (process / "environ").read_bytes():
                return 0.0
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) / 1e6
        except OSError:
            pass
        return 0.0


def run(seed: int, runs_dir: Path, *, control: bool) -> dict[str, Any]:
    """Run the recipe once; return its evaluations, seconds and memory."""
    marker = f"AWORLD_BENCHMARK={uuid.uuid4()}"
    watch = MemoryWatch(marker)
    watch.start()
    settings = ["--set", f"seed={seed}", *(["--set", "stages.grpo.shuffle_rewards=true"] if control else [])]
    command = [sys.executable, "-m", "aworld_cli", "run", str(RECIPE), "--json", "--runs-dir", str(runs_dir), *settings]
    started = time.monotonic()
    done = subprocess.run(
        command, stdout=subprocess.PIPE, env={**os.environ, **dict([marker.split("=")])}, check=True, text=True
    )
    seconds = time.monotonic() - started
    watch.ended.set()
    stages = {stage["name"]: stage for stage in json.loads(done.stdout)["stages"]}
    return {
        "seed": seed,
        "control": control,
        "seconds": round(seconds, 1),
        "peak_gb": round(watch.peak, 2),
        "processes": watch.processes,
        "stage_seconds": {name: stage["seconds"] for name, stage in stages.items()},
        "metrics": {name: stage["metrics"] for name, stage in stages.items() if stage["kind"] == "eval"},
    }


def row(result: dict[str, Any]) -> str:
    """Return a line of the table."""

    def figure(stage: str, metric: str) -> str:
        found = result["metrics"][stage][metric]
        return f"{100 * found['value']:.1f} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"

    def value(stage: str, metric: str) -> float:
        return 100 * float(result["metrics"][stage][metric]["value"])

    gain = value("eval-grpo", "pass@1") - value("eval-sft", "pass@1")
    name = f"{result['seed']}{' (shuffled rewards)' if result['control'] else ''}"
    parts = [
        name,
        figure("eval-sft", "pass@1"),
        figure("eval-grpo", "pass@1"),
        f"{gain:+.1f}",
        figure("eval-sft", "pass@4"),
        figure("eval-grpo", "pass@4"),
        f"{value('eval-sft', 'tool_use'):.1f}",
        f"{value('eval-grpo', 'tool_use'):.1f}",
        f"{result['seconds']:.0f}",
        f"{result['peak_gb']:.1f}",
    ]
    return "| " + " | ".join(parts) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--control", type=int, nargs="*", default=[0])
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = [run(seed, given.runs_dir, control=False) for seed in given.seeds]
    results += [run(seed, given.runs_dir, control=True) for seed in given.control]
    headings = "seed, pass@1 SFT, pass@1 GRPO, gain, pass@4 SFT, pass@4 GRPO, tool SFT, tool GRPO, s, GB"
    print("| " + " | ".join(headings.split(", ")) + " |")
    print("|" + " --- |" * len(headings.split(", ")))
    for result in results:
        print(row(result))
    if given.json is not None:
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
