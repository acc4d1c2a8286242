"""What `aworld doctor` looks at for this plugin, in a process of its own: PyTorch takes seconds to load."""

from __future__ import annotations

from aworld_cli.doctor import Finding, ProbeError, run_python

_CODE = """
import json, time
import torch, transformers
torch.set_num_threads(1)
a = torch.ones(256, 256)
started = time.perf_counter()
total = (a @ a).sum().item()
print(json.dumps([total == 256.0**3, transformers.__version__, torch.get_num_threads()]))
"""


def engine() -> Finding:
    """Whether PyTorch and Transformers load and compute here."""
    try:
        right, version, _ = run_python(_CODE)
    except (ProbeError, TypeError, ValueError) as error:
        remedy = "pip install --force-reinstall torch transformers, as aworld-local asks for them"
        return Finding("error", f"PyTorch or Transformers does not load: {error}", remedy)
    if not right:
        return Finding("error", "PyTorch multiplies wrongly on this processor", "install another build of PyTorch")
    return Finding("ok", f"PyTorch computes, Transformers {version}")
