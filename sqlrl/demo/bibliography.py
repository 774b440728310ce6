"""A generated bibliography of noisy citations: tokens to be segmented into fields.

Each citation lists authors, title, venue, date and pages in one of several orders. Names are abbreviated in several
ways, words are shared between fields (numbers above all), letters and punctuation get lost, and some tokens belong to
no field, so that words alone do not tell the field and the neighbouring token helps.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sqlrl.demo.vocabulary import Vocabulary, build_vocabulary

MODEL = """\
// A linear chain: a token speaks for a field, a field for the next position's field, and a position has at most one.
Token(token, position, bib)
Next(position, position)
InField(bib, field, position)

Token(+t, p, c) => InField(c, +f, p)
Next(p1, p2) ^ InField(c, +f1, p1) => InField(c, +f2, p2)
InField(c, f1, p) ^ (f1 != f2) => !InField(c, f2, p).
"""

_ORDERS = (
    ("author", "title", "venue", "pages", "date"),
    ("author", "title", "venue", "date", "pages"),
    ("author", "date", "title", "venue", "pages"),
    ("title", "author", "venue", "date"),
)
_MEETINGS = (
    ("proceedings", "of", "the", "conference", "on"),
    ("proc.", "conf."),
    ("workshop", "on"),
    ("symposium", "on"),
)
_MONTHS = ("jan.", "march", "june", "july", "sept.", "dec.")
_NOTES = (
    ("to", "appear"),
    ("available", "online"),
    ("submitted",),
    ("with", "an", "appendix"),
    ("draft", "of", "june"),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Labelled = list[tuple[str, str | None]]


@dataclass(frozen=True)
class Bibliography:
    """The facts and labels of a bibliography.

    Parameters
    ----------
    token : pyarrow.Table
        Columns token, position, bib; one row for each token.
    field : pyarrow.Table
        Labels: columns bib, field, position; at most one row for each position.
    next : pyarrow.Table
        Columns position, next; one row for each pair of neighbouring positions.
    """

    token: pa.Table
    field: pa.Table
    next: pa.Table

    @property
    def citations(self) -> list[str]:
        """The names of the citations, in order."""
        return list(dict.fromkeys(self.token["bib"].to_pylist()))

    def write(self, directory: Path | str) -> dict[str, Path]:
        """Write `token.parquet`, `field.parquet` and `next.parquet`.

        Parameters
        ----------
        directory : path
            Created if it does not exist.

        Returns
        -------
        dict of str to Path
            The path of each of the three files.
        """
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        tables = {"token": self.token, "field": self.field, "next": self.next}
        paths = {name: folder / f"{name}.parquet" for name in tables}
        for name, table in tables.items():
            pq.write_table(table, paths[name])
        return paths


def generate(citations: int = 600, *, seed: int = 0, noise: float = 1.0) -> Bibliography:
    """Generate a bibliography.

    Parameters
    ----------
    citations : int
        Number of citations, at least 1.
    seed : int
        The same arguments give the same bibliography.
    noise : float
        Scales the probability of every fault (typing errors, lost punctuation, notes, unusual orders); 0 gives
        citations in one clean order, 1 the default mixture.

    Returns
    -------
    Bibliography

    Raises
    ------
    ValueError
        `citations` is below 1, or `noise` outside [0, 5].

    Examples
    --------
    >>> bibliography = generate(3, seed=1)
    >>> bibliography.citations
    ['b0001', 'b0002', 'b0003']
    >>> bibliography.next.slice(0, 2).to_pylist()
    [{'position': 'p00', 'next': 'p01'}, {'position': 'p01', 'next': 'p02'}]
    """
    if citations < 1:
        raise ValueError(f"citations must be at least 1, not {citations}")
    if not 0.0 <= noise <= 5.0:
        raise ValueError(f"noise must lie between 0 and 5, not {noise}")
    rng = random.Random(seed)
    vocabulary = build_vocabulary(rng)
    return _tables([_citation(rng, vocabulary, noise) for _ in range(citations)])


def _tables(citations: list[Labelled]) -> Bibliography:
    """Write labelled citations as relations."""
    positions = [f"p{k:02d}" for k in range(max(map(len, citations)))]
    token: list[tuple[str, str, str]] = []
    field: list[tuple[str, str, str]] = []
    for number, citation in enumerate(citations, start=1):
        bib = f"b{number:04d}"
        for position, (word, label) in zip(positions, citation, strict=False):
            token.append((word, position, bib))
            if label is not None:
                field.append((bib, label, position))
    return Bibliography(
        token=_table(("token", "position", "bib"), token),
        field=_table(("bib", "field", "position"), field),
        next=_table(("position", "next"), list(pairwise(positions))),
    )


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> pa.Table:
    """Return rows of text as a table."""
    return pa.table({name: pa.array([row[k] for row in rows], pa.string()) for k, name in enumerate(columns)})


def _citation(rng: random.Random, vocabulary: Vocabulary, noise: float) -> Labelled:
    """Generate one citation: its tokens, each with its field or None."""
    fields = {
        "author": _author(rng, vocabulary),
        "title": _title(rng, vocabulary),
        "venue": _venue(rng, vocabulary),
        "date": _date(rng),
        "pages": _pages(rng),
    }
    order = list(rng.choice(_ORDERS) if rng.random() < 0.6 * noise else _ORDERS[0])
    if rng.random() < 0.06 * noise:
        k = rng.randrange(len(order) - 1)
        order[k], order[k + 1] = order[k + 1], order[k]
    if rng.random() < 0.25 * noise:
        order.remove(rng.choice(order[2:]))
    citation: Labelled = []
    if rng.random() < 0.2 * noise:
        citation.append((str(rng.randint(1, 60)), None))
    for name in order:
        citation += [(word, name.capitalize()) for word in fields[name]]
    if rng.random() < 0.2 * noise:
        at = rng.choice((0, len(citation), len(citation)))
        citation[at:at] = [(word, None) for word in rng.choice(_NOTES)]
    return [(_fault(rng, word, noise), label) for word, label in citation]


def _author(rng: random.Random, vocabulary: Vocabulary) -> list[str]:
    """Return the tokens of one to four authors, all written in one way."""
    style = rng.choices(("initial first", "initial last", "given", "surname"), weights=(4, 3, 2, 1))[0]
    words: list[str] = []
    count = rng.choices((1, 2, 3, 4), weights=(3, 4, 2, 1))[0]
    for k in range(count):
        if k and k == count - 1 and rng.random() < 0.8:
            words.append("and")
        surname = vocabulary.surnames.draw(rng)[0]
        initials = [rng.choice(_LETTERS).upper() + "." for _ in range(rng.choice((1, 1, 2)))]
        match style:
            case "initial first":
                words += [*initials, surname]
            case "initial last":
                words += [surname, *initials]
            case "given":
                words += [vocabulary.given.draw(rng)[0], surname]
            case _:
                words.append(surname)
    return words


def _title(rng: random.Random, vocabulary: Vocabulary) -> list[str]:
    """Return the tokens of a title; some hold a surname, a number or words of a venue."""
    words: list[str] = []
    for _ in range(rng.randint(4, 10)):
        kind = rng.random()
        if kind < 0.45:
            words += vocabulary.titles.draw(rng)
        elif kind < 0.73:
            words += vocabulary.plain.draw(rng)
        elif kind < 0.91:
            words += vocabulary.topics.draw(rng)
        elif kind < 0.97:
            words += vocabulary.surnames.draw(rng)
        else:
            words.append(str(rng.randint(2, 30)))
    return words


def _venue(rng: random.Random, vocabulary: Vocabulary) -> list[str]:
    """Return the tokens of a journal with its volume, or of a meeting with or without its year."""
    topics = vocabulary.topics.draw(rng, rng.choice((1, 2)))
    if rng.random() < 0.45:
        name = ["journal", "of", *topics] if rng.random() < 0.6 else [*topics, "letters"]
        volume = str(rng.randint(1, 60))
        return [*name, "vol.", volume] if rng.random() < 0.5 else [*name, volume]
    words = [*rng.choice(_MEETINGS), *topics]
    return [str(rng.randint(1984, 2010)), *words] if rng.random() < 0.2 else words


def _date(rng: random.Random) -> list[str]:
    """Return a year, at times with its month."""
    year = str(rng.randint(1984, 2010))
    return [rng.choice(_MONTHS), year] if rng.random() < 0.3 else [year]


def _pages(rng: random.Random) -> list[str]:
    """Return a range of pages, written in one of three ways."""
    first = rng.randint(1, 400)
    last = first + rng.randint(5, 30)
    style = rng.random()
    if style < 0.5:
        return ["pp.", str(first), "-", str(last)]
    return [str(first), "-", str(last)] if style < 0.8 else ["pages", str(first), str(last)]


def _fault(rng: random.Random, word: str, noise: float) -> str:
    """Return the word, at times without its period, in lower case, or with a typing error."""
    if word.endswith(".") and rng.random() < 0.25 * noise:
        word = word[:-1]
    if rng.random() < 0.1 * noise:
        word = word.lower()
    if len(word) > 3 and word.isalpha() and rng.random() < 0.05 * noise:
        k = rng.randrange(len(word) - 1)
        match rng.randrange(3):
            case 0:
                return word[:k] + word[k + 1 :]
            case 1:
                return word[:k] + word[k + 1] + word[k] + word[k + 2 :]
            case _:
                return word[:k] + rng.choice(_LETTERS) + word[k + 1 :]
    return word
