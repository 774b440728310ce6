"""The likelihood of linear chains against an independent implementation of conditional random fields."""

from __future__ import annotations

import re
from pathlib import Path

import pycrfsuite
import pytest

import sqlrl
from sqlrl.demo import generate

STRENGTH = 0.5
"""Of an L2 penalty of half of it times the sum of squared weights."""

MODEL = sqlrl.parse_mln("""
Token(token, position, bib)
Next(position, position)
InField(bib, field!, position)
Token(+t, p, c) ^ InField(c, +f, p)
Next(p1, p2) ^ InField(c, +f1, p1) ^ InField(c, +f2, p2)
""")


@pytest.fixture(scope="module")
def citations(tmp_path_factory: pytest.TempPathFactory) -> sqlrl.Database:
    """Citations of which every position has a field, another one where none was said."""
    folder = tmp_path_factory.mktemp("citations")
    generate(8, seed=5).write(folder)
    db = sqlrl.connect()
    db.load("Token", folder / "token.parquet", example="bib")
    db.load("Next", folder / "next.parquet", types=("position", "position"))
    labels = f"""
        select distinct t.bib, coalesce(s.field, 'Other') as field, t.position
        from sqlrl.named_Token t left join '{folder / "field.parquet"}' s using (bib, position)
    """
    db.load("InField", labels, types=["bib", "field", "position"], target=True)
    return db


def sequences(db: sqlrl.Database) -> list[tuple[list[str], list[str]]]:
    """The tokens and fields of each citation in order."""
    rows = db.sql("""
        select t.bib, list(t.token order by try_cast(regexp_extract(t.position, '[0-9]+') as int)),
            list(f.field order by try_cast(regexp_extract(t.position, '[0-9]+') as int))
        from sqlrl.named_Token t join sqlrl.named_InField f using (bib, position) group by t.bib order by t.bib
    """).fetchall()
    return [(tokens, fields) for _, tokens, fields in rows]


Weights = dict[tuple[str, str], float]


def trained(pairs: list[tuple[list[str], list[str]]], path: Path) -> tuple[float, Weights, Weights]:
    """The loss of the other implementation at its optimum, and its weights of (token, field) and of (field, next field)."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for tokens, fields in pairs:
        trainer.append(pycrfsuite.ItemSequence([[token] for token in tokens]), fields)
    # It minimises the negative log-likelihood plus c2 times the sum of squares.
    options = {"c1": 0.0, "c2": STRENGTH / 2, "epsilon": 1e-9, "delta": 1e-12, "period": 10, "max_iterations": 5000}
    trainer.set_params({**options, "feature.possible_states": True, "feature.possible_transitions": True})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    known = tagger.info()
    return float(trainer.logparser.last_iteration["loss"]), dict(known.state_features), dict(known.transitions)


def weighted(tokens: Weights, steps: Weights) -> sqlrl.Model:
    """The model with given weights, clause by clause."""
    declared = "Token(token, position, bib)\nNext(position, position)\nInField(bib, field!, position)\n"
    rules = [f'{w!r} Token("{a}", p, c) ^ InField(c, "{b}", p)' for (a, b), w in tokens.items()]
    rules += [f'{w!r} Next(p1, p2) ^ InField(c, "{a}", p1) ^ InField(c, "{b}", p2)' for (a, b), w in steps.items()]
    return sqlrl.parse_mln(declared + "\n".join(rules))


@pytest.mark.slow
def test_objective_and_weights_are_those_of_another_implementation(citations: sqlrl.Database, tmp_path: Path) -> None:
    pairs = sequences(citations)
    assert len(pairs) == 8
    loss, tokens, steps = trained(pairs, tmp_path / "chain.crf")
    fit = sqlrl.Likelihood("l2", STRENGTH, tolerance=1e-8).fit(citations, MODEL)
    mine: tuple[Weights, Weights] = ({}, {})
    for row in fit.clauses().to_pylist():
        token = re.match(r'Token\("?(.*?)"?, p, c\) \^ InField\(c, "?(\w+)"?, p\)', row["clause"])
        step = re.match(r'Next.*InField\(c, "?(\w+)"?, p1\) \^ InField\(c, "?(\w+)"?, p2\)', row["clause"])
        found = token or step
        assert found is not None, row["clause"]
        mine[token is None][found[1], found[2]] = row["weight"]
    assert (mine[0].keys(), mine[1].keys()) == (tokens.keys(), steps.keys())
    assert len(tokens) > 50
    # Same features, same penalty: the losses agree to 1e-5, relative, and so do the weights to 1e-3.
    penalty = STRENGTH / 2 * sum(row["weight"] ** 2 for row in fit.clauses().to_pylist())
    assert penalty - fit.log_likelihood_ == pytest.approx(loss, rel=1e-5)
    for ours, theirs in zip(mine, (tokens, steps), strict=True):
        assert [ours[key] for key in theirs] == pytest.approx(list(theirs.values()), abs=1e-3)
    # At their weights our objective is their loss: as a model that has them.
    started = sqlrl.Likelihood("l2", STRENGTH, max_iterations=1, tolerance=1e9).fit(
        citations, MODEL, start=weighted(tokens, steps)
    )
    assert -started.iterations_.column("objective")[0].as_py() == pytest.approx(loss, rel=1e-5)
    assert started.reached_.components == 8


@pytest.mark.slow
def test_probabilities_are_its_probabilities(citations: sqlrl.Database, tmp_path: Path) -> None:
    pairs = sequences(citations)
    _, weights, steps = trained(pairs, tmp_path / "chain.crf")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "chain.crf"))
    found = citations.probabilities(weighted(weights, steps)).probabilities().to_pylist()
    chance = {(row["bib"], row["field"], row["position"]): row["probability"] for row in found}
    rows = citations.sql("""
        select bib, list(position order by try_cast(regexp_extract(position, '[0-9]+') as int)) from sqlrl.named_Token
        group by bib order by bib
    """).fetchall()
    for (bib, positions), (tokens, _) in zip(rows, pairs, strict=True):
        tagger.set(pycrfsuite.ItemSequence([[token] for token in tokens]))
        for k, position in enumerate(positions):
            for field in tagger.labels():
                assert chance[bib, field, position] == pytest.approx(tagger.marginal(field, k), abs=1e-4)
