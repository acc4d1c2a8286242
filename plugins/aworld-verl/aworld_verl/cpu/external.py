"""The module that verl imports as `model.external_lib`: engine and rollout register themselves.

Apart from `platform`, since importing the FSDP engine while `import verl` runs would be circular.
"""

from __future__ import annotations

from aworld_verl.cpu import engine, rollout
from aworld_verl.cpu.platform import check_loaded

check_loaded()
engine.register()
rollout.register()
