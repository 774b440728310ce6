"""The words of the generated bibliography, built from syllables and short lists; none comes from real citations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_ONSETS = ("b", "br", "d", "f", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w", "z")
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ei", "ou")
_CODAS = ("", "", "", "n", "l", "r", "s", "m", "ck", "rn", "nd")
_SURNAME_ENDINGS = ("sen", "ski", "mann", "elli", "ova", "ton", "eau", "ides", "ura", "")
_TITLE_ENDINGS = ("tion", "ing", "ity", "al", "ive", "ence", "or", "s", "ic", "")

_GIVEN = ("Anna", "Bela", "Carl", "Dina", "Erik", "Fay", "Gil", "Hana", "Ivo", "Jun", "Kira", "Lars", "Mona", "Nils")
_TOPICS = (
    "learning", "logic", "databases", "networks", "inference", "planning", "language", "vision", "retrieval", "agents",
    "knowledge", "search", "systems", "theory", "probability", "constraints", "reasoning", "computation", "data", "graphs",
)  # fmt: skip
_PLAIN = (
    "a", "study", "of", "the", "for", "with", "using", "and", "in", "on", "an", "approach", "to", "new", "fast", "from",
    "model", "models", "algorithm", "method", "analysis", "efficient", "general", "simple",
)  # fmt: skip


@dataclass(frozen=True)
class Words:
    """Words with frequencies that fall as in a natural text (the k-th word as 1/k), the most frequent first."""

    words: tuple[str, ...]
    _cumulative: tuple[float, ...]

    @classmethod
    def ranked(cls, words: Sequence[str]) -> Words:
        """Return words whose frequency follows from their rank."""
        return cls(tuple(words), tuple(accumulate(1.0 / (rank + 2) for rank in range(len(words)))))

    def draw(self, rng: random.Random, count: int = 1) -> list[str]:
        """Draw words with replacement."""
        return rng.choices(self.words, cum_weights=self._cumulative, k=count)


@dataclass(frozen=True)
class Vocabulary:
    """The words of each field; `plain` and `topics` are words that titles and venues share."""

    surnames: Words
    given: Words
    titles: Words
    plain: Words
    topics: Words


def _distinct(rng: random.Random, count: int, syllables: tuple[int, int], endings: Sequence[str]) -> list[str]:
    """Return distinct words of a number of syllables, in the order in which they were drawn."""
    words: dict[str, None] = {}
    while len(words) < count:
        length = rng.randint(*syllables)
        stem = "".join(rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(length))
        words[stem + rng.choice(endings)] = None
    return list(words)


def build_vocabulary(rng: random.Random, *, surnames: int = 350, titles: int = 500) -> Vocabulary:
    """Build the words of a bibliography, with so many distinct surnames and distinct title words."""
    return Vocabulary(
        surnames=Words.ranked([w.capitalize() for w in _distinct(rng, surnames, (1, 2), _SURNAME_ENDINGS)]),
        given=Words.ranked(_GIVEN),
        titles=Words.ranked(_distinct(rng, titles, (1, 2), _TITLE_ENDINGS)),
        plain=Words.ranked(_PLAIN),
        topics=Words.ranked(_TOPICS),
    )
