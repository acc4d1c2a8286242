"""`python -m aworld_cli` and the script `aworld`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # scripts ask it often; it needs no command line, nor plugins
        from aworld_cli import __version__

        sys.stdout.write(f"aworld {__version__}\n")
        return
    try:
        from aworld_cli.cli.app import main as run
        from aworld_cli.cli.streams import secure

        secure()
    except KeyboardInterrupt:  # imports take a moment too
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
