"""Options in groups: a command names a group once, and gets its options and an object that holds their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer with keyword parameters, in which each parameter of a dataclass type is replaced by its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind))
            continue
        assert isinstance(kind, type)
        groups[parameter.name] = kind
        inner = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default(field, parameter.default),
                annotation=inner[field.name],
            )
            # Those that are keywords alone come last, as in a signature, also where they are inherited.
            for field in sorted(fields(kind), key=lambda field: bool(field.kw_only))
        ]
    names = [parameter.name for parameter in parameters]
    if len(set(names)) < len(names):
        raise TypeError(f"{command.__name__} has two options of one name: {sorted(names)}")

    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}

    def run(**given: Any) -> None:
        """Make the groups and run the command."""
        values = {**defaults, **given}
        made = {name: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**made, **values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters, return_annotation=None)
    return run


def _default(field: Field[Any], given: object) -> object:
    """Return the default of an option: that of the group's default, else of the field."""
    if given is not inspect.Parameter.empty:
        return getattr(given, field.name)
    return inspect.Parameter.empty if field.default is MISSING else field.default
