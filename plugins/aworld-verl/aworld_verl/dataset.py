"""The data set that verl reads: task ids and nothing else (episodes know what a task is)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset


class TaskDataset(Dataset):  # type: ignore[misc]
    """Rows `{"task_id", "index", "raw_prompt"}` from a JSON array of ids; no tokenizer, no parquet."""

    def __init__(self, data_files: str, max_samples: int = -1, **unused: Any) -> None:
        ids = json.loads(Path(data_files).read_text())
        self._ids = [str(i) for i in (ids[:max_samples] if max_samples > 0 else ids)]

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: int) -> dict[str, Any]:
        # verl counts rows by `raw_prompt`; the real prompt is made by the episode.
        return {"task_id": self._ids[index], "index": index, "raw_prompt": ""}
