"""The learners, and the options of `sqlrl learn` that come from the declarations of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, make_dataclass, replace
from enum import StrEnum
from functools import cached_property
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlrl.cli.learning import BATCHES, GENERATIVE, LEARNER, ONLINE, SEARCHES, SOFT, STREAMED, Name
from sqlrl.cli.options import FLAG
from sqlrl.cli.words import name_options
from sqlrl.deprecated import old_parameters
from sqlrl.errors import InputError
from sqlrl.learn.fitted import Configured
from sqlrl.learn.parameters import REQUIRED, Declaration, Option, declarations, parse_value
from sqlrl.script.learning import learners

BATCH, OF_PROGRAMS = "Batch learners", "Learners of soft logic"


LEARNERS: dict[str, type[Configured]] = {word.value: learners()[word.value] for word in Name}
"""The learners by the words that the command line calls them, in the order of its help."""


# ---- options -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerOption:
    """An option of some learners: the parameter that it is of each, by the learner's word."""

    name: str
    declared: dict[str, Declaration] = field(default_factory=dict)
    old: bool = False  # the name that it had before; the estimator warns of it

    @cached_property
    def first(self) -> Declaration:
        """The parameter of the first learner that has it."""
        return next(iter(self.declared.values()))

    @property
    def option(self) -> Option:
        """What the declaration says of the option."""
        assert self.first.option is not None
        return self.first.option

    @property
    def field(self) -> str:
        """What its value is called."""
        name = self.name.removeprefix("--").split("/")[0].replace("-", "_").lower()
        return f"{name}_" if iskeyword(name) else name

    @property
    def shared(self) -> bool:
        """Whether all online learners have it."""
        return set(ONLINE) <= self.declared.keys()

    @property
    def flag(self) -> bool:
        """Whether it has no value."""
        return self.first.kind is bool

    @property
    def several(self) -> bool:
        """Whether some learner takes several numbers."""
        return any(each.several for each in self.declared.values())

    def kind(self) -> Any:
        """Return the type of its value for typer."""
        if self.flag:
            return bool | None if "/" in self.name else bool
        choices = dict.fromkeys(word for each in self.declared.values() for word in each.choices)
        if choices:
            return _words(self.field, choices) | None
        if self.several or self.first.kind not in (int, float):
            return (Path if self.option.value == "FILE" else str) | None
        return self.first.kind | None

    def annotation(self) -> Any:
        """Return it as an option of typer."""
        value = self.option.value
        if value is None and not self.first.choices:
            value = "N" if self.first.kind is int else "X[,X...]" if self.several else "X"
        families = ((LEARNER, ONLINE), (BATCH, LEARNERS.keys() - SOFT.keys()), (OF_PROGRAMS, SOFT))
        panel = next(name for name, words in families if any(word in words for word in self.declared))
        return Annotated[
            self.kind(),
            typer.Option(
                self.name,
                metavar=FLAG if self.flag else value,
                help=self.help(),
                show_default=self.default() or False,
                rich_help_panel=self.option.panel or panel,
                hidden=self.old,
            ),
        ]

    def help(self) -> str:
        """Return what the option is, after the learners that have it, unless a whole family or the group of options says that."""
        named = self.shared or (self.option.panel is not None and "--learner" in self.option.panel)
        if named:
            return self.option.sentence
        helps = _by_words({word: each.option.help for word, each in self.declared.items() if each.option is not None})
        whose = [", ".join(self.declared)] if len(helps) == 1 else [words for _, words in helps]
        return f"{'; '.join(f'{words}: {text}' for words, (text, _) in zip(whose, helps, strict=True))}."

    def default(self) -> str:
        """Return the default value in words, where learners differ that of each; nothing of a flag."""
        if self.flag:
            return ""
        texts = {
            word: each.option.default if each.option is not None and each.option.default else _default(word, each)
            for word, each in self.declared.items()
        }
        (first, _), *others = _by_words(texts)
        return ", ".join([first, *(f"of {words} {text}" for text, words in others)])

    def refusal(self, word: str) -> str:
        """Say whose option it is, to a learner that does not have it."""
        others = [each for each in self.declared if not (self.shared and each in ONLINE)]
        whose = ["online learners", *others] if self.shared else others
        *most, last = whose
        reason = why_not_online(word) if self.shared else "has no such number or choice"
        return f"{self.name.split('/')[0]} is an option of {', '.join(most)}{' and ' if most else ''}{last}: {word} {reason}"

    def value(self, word: str, given: Any) -> object:
        """Return a value as a learner takes it; typer.BadParameter if it is no list of numbers."""
        declared = self.declared[word]
        if isinstance(given, StrEnum):
            return given.value
        if self.flag:
            return given if "/" in self.name else not declared.default
        if declared.several:
            return _numbers(self.name, given)
        if declared.estimator:
            return _estimator(self.name, given, declared.kind)
        if isinstance(given, str) and declared.kind in (int, float):
            # Of other learners the option is several numbers.
            number = _numbers(self.name, given)
            if not isinstance(number, float):
                raise typer.BadParameter(f"{self.name} {given}: {word} takes one number")
            return declared.kind(number)
        if isinstance(given, str) and declared.kind is object:
            read = parse_value(given, {})
            return float(read) if isinstance(read, int) else read
        return given


def why_not_online(word: str) -> str:
    """Say what a learner does that has no options of online learners."""
    if word in STREAMED:
        return "takes those of its learner of weights with it, as in --weights 'adagrad(ties=first)'"
    return (
        "sees all examples at once"
        if word in {*BATCHES, *GENERATIVE, *SEARCHES, *SOFT}
        else "searches from atom to atom"
    )


def _by_words(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return texts, each once, with the learners whose they are, as a sentence names them."""
    found: dict[str, list[str]] = {}
    for word, text in texts.items():
        found.setdefault(text, []).append(word)
    return [
        (text, " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words))
        for text, words in found.items()
    ]


def _words(name: str, words: Iterable[str]) -> Any:
    """Return the words to choose from as typer wants them."""
    kind: Any = StrEnum
    return kind(name, {word: word for word in words})


def _default(word: str, declared: Declaration) -> str:
    """Return a default value in words."""
    instead = LEARNERS[word].fallbacks
    if declared.default is None and declared.name in instead:
        return f"the bias', or {_shown(instead[declared.name])}"
    return "" if declared.default is None or declared.default is REQUIRED else _shown(declared.default)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _estimator(option: str, text: str, wanted: type) -> Any:
    """Return an estimator of a kind, by its word or with parameters behind it; typer.BadParameter if it is none."""
    try:
        found = parse_value(text, LEARNERS)
    except InputError as error:
        raise typer.BadParameter(f"{option} {text}: {error}") from error
    if not isinstance(found, str):
        return found
    # One that needs parameters, such as the modes of osl, is no word alone.
    ready = [
        word
        for word, kind in LEARNERS.items()
        if issubclass(kind, wanted) and all(x.default is not REQUIRED for x in declarations(kind).values())
    ]
    if found not in ready:
        raise typer.BadParameter(f"{option} {text}: there is no such learner; choose among {', '.join(ready)}")
    return LEARNERS[found]()


def _numbers(option: str, text: str) -> float | list[float]:
    """Return numbers with commas between them; one alone is no list."""
    try:
        found: list[Any] = parse_value(text if text.startswith("[") else f"[{text}]", {})
    except InputError:
        found = []
    if not found or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in found):
        raise typer.BadParameter(f"{option} {text}: give a number, or several with commas between them: 0.1,1,10")
    numbers = [float(each) for each in found]
    return numbers if len(numbers) > 1 else numbers[0]


def _options() -> dict[str, LearnerOption]:
    """Return the options of all learners by the names of their values."""
    found: dict[str, LearnerOption] = {}
    for word, kind in LEARNERS.items():
        for each in declarations(kind).values():
            if each.option is not None:
                option = LearnerOption(each.option.name or f"--{each.name.replace('_', '-')}")
                found.setdefault(option.field, option).declared[word] = each
    for word, kind in LEARNERS.items():
        for name, old in old_parameters(kind).items():
            now = declarations(kind)[old.new[-1]]
            option = LearnerOption(old.option or f"--{name.replace('_', '-')}", old=True)
            if now.option is None or (option.field in found and not found[option.field].old):
                continue  # the option has the same name, or there was none
            before = replace(
                now, name=name, several=now.several and not old.new[1:], kind=object if old.back else now.kind
            )
            found.setdefault(option.field, option).declared[word] = before
    return dict(sorted(found.items(), key=lambda item: item[1].shared))


OPTIONS = _options()


def name_parameters(words: Iterable[str]) -> None:
    """Let messages name the options that parameters of some learners are."""
    name_options(
        {
            each.name: option.name.split("/")[0]
            for option in OPTIONS.values()
            for word, each in option.declared.items()
            if word in words and (not option.flag or not each.default)
        }
    )


# Those of soft logic have some of the same names with other options: they are named once one of them is chosen.
name_parameters(LEARNERS.keys() - SOFT.keys())

Given: Any = make_dataclass(
    "Given",
    [
        (name, option.annotation(), field(default=False if option.flag and "/" not in option.name else None))
        for name, option in OPTIONS.items()
    ],
    frozen=True,
)
"""The options of all learners as they were given; None, or False of a flag, if one was not."""


def parameters(word: str, given: Any) -> dict[str, Any]:
    """Return the given options as parameters of a learner; an option of other learners is a typer.BadParameter."""
    found: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        value = getattr(given, name)
        # A flag that is not given is False, unless it has two names; anything else is None.
        if value is None or (value is False and "/" not in option.name):
            continue
        if word not in option.declared:
            # What all online learners have may be given to others with its default value, which changes nothing.
            if option.shared and not option.flag and value == option.first.default:
                continue
            raise typer.BadParameter(option.refusal(word))
        found[option.declared[word].name] = option.value(word, value)
    return found
