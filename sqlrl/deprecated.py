"""Names that were, and what they are now: each works until the next release and warns with a FutureWarning that names the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sqlrl.errors import UnknownParameterError, warn

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")

PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "fit": {"on_window": "callback", "on_iteration": "callback", "on_step": "callback", "on_seed": "callback"},
}
"""Of methods: old names of parameters, and the new one of each."""

POSITIONAL: Mapping[str, tuple[int, str]] = {"fit": (2, "examples")}
"""Of methods: how many arguments may be given by position, and the one that came after them."""


def old_names(method: Callable[_Given, _Made], name: str) -> Callable[_Given, _Made]:
    """Let a method take its parameters by their old names, too."""
    renamed = PARAMETERS.get(name, {})
    most, following = POSITIONAL.get(name, (None, ""))

    @wraps(method)
    def called(*given: _Given.args, **options: _Given.kwargs) -> _Made:
        found: dict[str, Any] = dict(options)
        for old in renamed.keys() & found.keys():
            new = renamed[old]
            if new in found:
                raise UnknownParameterError(
                    f"{name}() was given {old}= and {new}=, which are the same: leave {old}= out"
                )
            warn(f"{old}= of {name}() is {new}= now, and goes with the next release", FutureWarning)
            found[new] = found.pop(old)
        # The first argument is the object itself.
        if most is not None and len(given) == most + 2 and following not in found:
            warn(f"give {following}= of {name}() by its name: it goes by position with the next release", FutureWarning)
            found[following] = given[-1]
            return method(*given[:-1], **found)  # type: ignore[arg-type]
        return method(*given, **found)

    return called
