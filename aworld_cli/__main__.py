"""`python -m aworld_cli` and the script `aworld`."""

from __future__ import annotations

from aworld_cli.cli.app import main

if __name__ == "__main__":
    main()
