"""AWorld's verl trainer: verl's own GRPO over episodes that AWorld collects.

Importing this package loads nothing heavy. `aworld_verl.driver` is the child process that holds
Ray and verl; everything else here is either configuration or a seam that verl loads by name.
"""

__version__ = "0.1.0"
