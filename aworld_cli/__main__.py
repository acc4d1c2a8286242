"""`python -m aworld_cli` and the script `aworld`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # scripts ask it often; it needs no command line, nor plugins
        from aworld_cli import __version__

        try:
            os.write(1, f"aworld {__version__}\n".encode())
            return
        except OSError:  # the command line says what is wrong with standard output
            pass
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
