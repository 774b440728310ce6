"""What users see: tables in terminals and notebooks, progress and messages on standard error."""

from sqlrl.report.console import (
    Console,
    NotebookConsole,
    PlainConsole,
    Progress,
    QuietConsole,
    RichConsole,
    console_for,
    track,
)
from sqlrl.report.table import Table

__all__ = [
    "Console",
    "NotebookConsole",
    "PlainConsole",
    "Progress",
    "QuietConsole",
    "RichConsole",
    "Table",
    "console_for",
    "track",
]
