"""Parameters of estimators by name, as scikit-learn asks for them: to show, copy and search over estimators."""

from __future__ import annotations

from typing import Any, Self

from sqlrl.errors import InputError
from sqlrl.logic.lexer import nearest
from sqlrl.wording import counted

NESTED = "__"
"""Stands between the name of a parameter that is an estimator and the name of a parameter of that one."""


class Configured:
    """What has parameters: the constructor's arguments, stored as they are in attributes of the same names."""

    def _names(self) -> tuple[str, ...]:
        """Return the names of the constructor's arguments."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        Parameters
        ----------
        deep : bool
            Also return those of arguments that are estimators, as `learner__window` for `window` of `learner`.

        Examples
        --------
        >>> import sqlrl
        >>> sqlrl.MaxMargin(C=10.0).get_params()["C"]
        10.0
        """
        found = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(found.items()):
                if callable(getattr(value, "get_params", None)) and not isinstance(value, type):
                    found |= {f"{name}{NESTED}{inner}": each for inner, each in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor; as there, values are checked by `fit`. What was learned stays until then.

        Parameters
        ----------
        **params
            By name; those of an argument that is an estimator as `get_params` names them.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            There is no such parameter; nothing is set then.

        Examples
        --------
        >>> import sqlrl
        >>> sqlrl.MaxMargin().set_params(C=10.0, penalty="l1")
        MaxMargin(C=10.0, penalty='l1')
        """
        known = self.get_params()
        unknown = [name for name in params if name not in known]
        if unknown:
            names = self._names()
            like = nearest(unknown[0], known)
            its = f"; its {counted(len(names), 'parameter')}: {', '.join(names)}"
            raise InputError(f"{type(self).__name__} has no parameter {unknown[0]!r}{like or its}")
        # Whole estimators first: what is set inside one is meant for the new one.
        for name in sorted(params, key=lambda name: NESTED in name):
            outer, nested, inner = name.partition(NESTED)
            if nested:
                getattr(self, outer).set_params(**{inner: params[name]})
            else:
                setattr(self, name, params[name])
        return self
