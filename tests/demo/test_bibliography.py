"""The generated bibliography: deterministic, well formed, and neither trivial nor hopeless."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sqlrl.demo.bibliography import MODEL, Bibliography, generate


@pytest.fixture(scope="module")
def bibliography() -> Bibliography:
    return generate(seed=3)


def test_same_arguments_same_data() -> None:
    first, second, other = generate(40, seed=5), generate(40, seed=5), generate(40, seed=6)
    assert first.token.equals(second.token)
    assert first.field.equals(second.field)
    assert not first.token.equals(other.token)


def test_each_position_has_one_token_and_at_most_one_field(bibliography: Bibliography) -> None:
    tokens = [(r["bib"], r["position"]) for r in bibliography.token.to_pylist()]
    fields = [(r["bib"], r["position"]) for r in bibliography.field.to_pylist()]
    assert len(set(tokens)) == len(tokens)
    assert len(set(fields)) == len(fields)
    assert set(fields) < set(tokens)
    assert len(bibliography.citations) == 600


def test_next_links_all_positions_and_they_sort_as_text(bibliography: Bibliography) -> None:
    positions = sorted({r["position"] for r in bibliography.token.to_pylist()})
    pairs = [(r["position"], r["next"]) for r in bibliography.next.to_pylist()]
    assert pairs == list(pairwise(positions))
    by_citation: dict[str, list[str]] = defaultdict(list)
    for row in bibliography.token.to_pylist():
        by_citation[row["bib"]].append(row["position"])
    assert all(found == positions[: len(found)] for found in by_citation.values())


def test_words_alone_are_not_enough_yet_far_from_useless(bibliography: Bibliography) -> None:
    label = {(r["bib"], r["position"]): r["field"] for r in bibliography.field.to_pylist()}
    rows = [(r["bib"], r["token"], label.get((r["bib"], r["position"]))) for r in bibliography.token.to_pylist()]
    train, test = [r for r in rows if r[0] <= "b0450"], [r for r in rows if r[0] > "b0450"]
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    for _, word, field in train:
        counts[word][field] += 1
    guess = {word: fields.most_common(1)[0][0] for word, fields in counts.items()}
    right = sum(guess.get(word) == field for _, word, field in test)
    assert 0.65 < right / len(test) < 0.92
    assert any(field is None for _, _, field in test)


def test_noise_can_be_turned_off() -> None:
    clean = generate(30, noise=0.0)
    assert clean.token.num_rows == clean.field.num_rows
    starts = {r["field"] for r in clean.field.to_pylist() if r["position"] == "p00"}
    assert starts == {"Author"}


def test_written_files_hold_the_tables(bibliography: Bibliography, tmp_path: Path) -> None:
    paths = bibliography.write(tmp_path / "new" / "folder")
    assert pq.read_table(paths["token"]).equals(bibliography.token)
    assert pq.read_table(paths["field"]).equals(bibliography.field)
    assert pq.read_table(paths["next"]).column_names == ["position", "next"]


@pytest.mark.parametrize(
    ("arguments", "message"), [({"citations": 0}, "at least 1"), ({"noise": -1.0}, "between 0 and 5")]
)
def test_bad_arguments_are_named(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(**arguments)


def test_model_names_the_three_relations() -> None:
    for declaration in ("Token(token, position, bib)", "Next(position, position)", "InField(bib, field, position)"):
        assert declaration in MODEL
