"""The command line, its sub-commands by what a user does. Heavy libraries are imported inside the commands, so that it starts fast."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process: 0 done, 1 an error, 2 wrong usage, 130 Ctrl-C, 141 output closed."""
    import os

    # Nothing is imported before Ctrl-C has a message in place of a traceback.
    try:
        from sqlrl.cli.interrupts import watch

        watch()
    except KeyboardInterrupt:
        os.write(2, b"error: interrupted\n")
        os._exit(130)
    from sqlrl.cli.app import run

    run()


__all__ = ["main"]
