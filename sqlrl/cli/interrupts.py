"""Ctrl-C on the command line.

While nothing is open the process ends at once. In a command it is KeyboardInterrupt, but never inside an import: compiled
libraries swallow it there ("ImportError: initialization failed"), and modules would stay half made; it comes when the import is done.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` takes 10 ms, in which Ctrl-C would still be Python's own
if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType
    from typing import NoReturn

INTERRUPTED = 130

_LATER = 0.02
"""Seconds after which a signal that came at a bad moment is sent again."""

_EARLY = "error: interrupted; nothing was begun\n"
_LATE = "error: interrupted; the command had ended\n"


class _Watch:
    """The handler of the signal."""

    def __init__(self, outermost: CodeType) -> None:
        # Imports that led to the command line itself, if any, are none to wait for.
        self._outermost = outermost
        self.at_work = False
        self.words = _EARLY
        self._main = _thread.get_ident()
        # No thread may be started by a handler: it may have interrupted a start of one, which holds locks.
        self._asked, self._ask = os.pipe()
        _thread.start_new_thread(self._repeat, ())

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.at_work:
            end_at_once(self.words)
        if self._importing():
            self.again()
        else:
            raise KeyboardInterrupt

    def again(self) -> None:
        """Send the signal once more, a moment later."""
        os.write(self._ask, b"\0")

    def _repeat(self) -> None:
        while os.read(self._asked, 1):
            time.sleep(_LATER)
            signal.pthread_kill(self._main, signal.SIGINT)

    def _importing(self) -> bool:
        # The frame that the signal came with may be one of the past: those that compile kernels keep it until they are done.
        at: FrameType | None = sys._getframe()  # noqa: SLF001
        while at is not None and at.f_code is not self._outermost:
            if at.f_code.co_filename.startswith("<frozen importlib"):
                return True
            at = at.f_back
        return False


_watches: list[_Watch] = []
"""The one of this process, if it is a command line."""


class AtWork:
    """The context of a command at work, in which Ctrl-C is KeyboardInterrupt."""

    def __enter__(self) -> None:
        for watch_ in _watches:
            watch_.at_work = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watch_ in _watches:
            watch_.at_work, watch_.words = False, _LATE


def watch() -> None:
    """Handle Ctrl-C from now on as this module describes."""
    # Where Ctrl-C is ignored, as in the background of a script, it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    handler = _Watch(sys._getframe(1).f_code)  # noqa: SLF001
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main thread
        return
    _watches[:] = [handler]
    # What is registered first is called last: when only the interpreter's own end is left, the exit code is settled.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    told = sys.unraisablehook

    def swallowed(found: sys.UnraisableHookArgs) -> None:
        # Where Python cannot raise, as in a callback of the garbage collector, the run would go on.
        if found.exc_type is KeyboardInterrupt:
            handler.again()
        else:
            told(found)

    sys.unraisablehook = swallowed


def end_at_once(words: str = _EARLY) -> NoReturn:
    """End the process, in which nothing is open that could be lost."""
    try:
        # Python's own streams may be in use by the code that was interrupted.
        os.write(2, words.encode())
    finally:
        os._exit(INTERRUPTED)
