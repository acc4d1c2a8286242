"""`python -m aworld_cli` and the script `aworld`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from aworld_cli.cli.app import main as run
    except KeyboardInterrupt:  # imports take a moment too
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
