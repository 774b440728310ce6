"""The command line; one sub-command a file. Heavy libraries are imported inside the commands, so that it starts fast."""

from sqlrl.cli.app import app, main

__all__ = ["app", "main"]
