"""What a window says to path finding, against the definitions on random databases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground.atoms import read_facts
from sqlrl.ground.binding import bind_program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Rule
from sqlrl.logic.terms import Atom, Variable
from tests.effort import draws
from tests.ground.cases import CLOSED, GLOBAL, Case, Names, databases, load

FEW = settings(max_examples=draws(5))


@pytest.mark.slow
@FEW
@given(databases(), st.integers(0, 1000))
def test_facts_are_what_is_true_in_the_observed_world(case: Case, seed: int) -> None:
    data = case.data
    engine, layout = load(case)
    name = case.opened[0]
    rule = Rule(Atom(name, tuple(Variable(f"x{i}") for i in range(len(case.types(name))))), 1.0)
    program = bind_program(engine, layout, replace(case, rules=(rule,)).model)
    names = Names(engine, layout)
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(np.array(sorted(names.examples), np.int64))
    chosen = chosen[: generator.integers(1, len(chosen) + 1)]
    with program.examples_table(chosen) as examples:
        facts = read_facts(program, [*CLOSED, *case.opened], examples, chosen)
    assert facts.examples is chosen
    true = data.facts | {atom for atom, label in data.atoms.items() if label}
    bibs = {names.examples[i] for i in chosen.tolist()}
    assert set(facts.atoms) == {*CLOSED, *case.opened}
    for predicate, found in facts.atoms.items():
        everywhere = predicate in GLOBAL or case.kind == "one"
        rows = [(int(e), *map(int, row)) for e, row in zip(found.example, found.arguments, strict=True)]
        assert rows == sorted(set(rows))
        got = set()
        for example, *row in rows:
            constants = tuple(names.constants[k][i] for k, i in zip(found.types, row, strict=True))
            got.add((None if example < 0 else names.examples[example], constants))
        expected = set()
        for atom_predicate, beside, constants in true:
            example = beside if case.kind == "column" else constants[0]
            if atom_predicate == predicate and (everywhere or example in bibs):
                expected.add((None if everywhere else example, constants))
        assert got == expected, predicate
    used = {kind for found in facts.atoms.values() for kind in found.types}
    assert set(facts.domains) == set(data.local) & used
    for kind, (example, ids) in facts.domains.items():
        pairs = list(zip(example.tolist(), ids.tolist(), strict=True))
        assert pairs == sorted(set(pairs))
        got_domain = {(names.examples[e], names.constants[kind][i]) for e, i in pairs}
        assert got_domain == {
            (b, c) for (k, b), domain in data.domains.items() if k == kind and b in bibs for c in domain
        }
    program.close()
    engine.close()


def test_an_atom_about_two_examples_stands_in_both() -> None:
    model = parse_mln("Word(word, bib)\nCites(bib, bib)\nTopic(bib)\n1 Word(w, b) => Topic(b)", query=("Topic",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("Word", [("sql", "B1"), ("sql", "B2"), ("x", "B3")], example="bib")
    catalog.load("Cites", [("B1", "B2"), ("B2", "B2"), ("B3", "B1")])
    catalog.load("Topic", [("B1",)], target=True)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    with program.examples_table(np.array([1, 0])) as examples:
        facts = read_facts(program, ["Cites"], examples, np.array([1, 0]))
    found = facts.atoms["Cites"]
    rows = [(int(e), *map(int, row)) for e, row in zip(found.example, found.arguments, strict=True)]
    assert rows == [(0, 0, 1), (0, 2, 0), (1, 0, 1), (1, 1, 1)]
    program.close()
    catalog.engine.close()
