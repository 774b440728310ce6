"""Transfer: what is revised, and how; what is refused, and what is said of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlrl
from sqlrl.errors import InfeasibleTruthWarning, InputError, ModelError, NothingFoundWarning
from sqlrl.logic.shapes import Instance
from sqlrl.structure.beam.estimator import MSL
from sqlrl.structure.diagnosis.estimator import Transfer
from sqlrl.training import clause_search
from tests.structure.diagnosis.test_repair import literals

SOURCE = """\
Student(person)
Prof(person)
Advises(person, person)
Publishes(paper, person)

1 Advises(p, s) => Student(s)
1 Publishes(t, p) ^ Student(p) => Advises(s, p)
1 Prof(p) => !Student(p)
1 Publishes(t, p) ^ Publishes(t, s) ^ Prof(p) ^ Student(s) => Advises(p, s)
"""
MAPPING = {"Student": "Intern", "Prof": "Employee", "Advises": "Leads", "Publishes": "Works"}


def company() -> sqlrl.Database:
    """Two firms, in which those lead interns who work on what interns work on."""
    db = sqlrl.connect()
    employees = [(f"e{i}",) for i in range(6)]
    interns = [(f"i{i}",) for i in range(8)] + [("e5",)]
    db.load("Employee", employees, types=["person"])
    db.load("Intern", interns, types=["person"])
    works = [(f"w{i % 4}", f"e{i}") for i in range(6)] + [(f"w{i % 4}", f"i{i}") for i in range(8)]
    db.load("Works", works, types=["project", "person"])
    db.load(
        "Leads",
        [("e4", "e5")] + [(f"e{j}", f"i{i}") for i in range(8) for j in range(6) if i % 4 == j % 4],
        types=["person", "person"],
    )
    return db


@pytest.fixture(scope="module")
def db() -> Iterator[sqlrl.Database]:
    with company() as opened:
        yield opened


@pytest.fixture
def candidates(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Instance, str | None]]:
    """All clauses that a search asks about."""
    asked: list[tuple[Instance, str | None]] = []
    learn = clause_search.SearchBlankets.learn

    def record(self, wanted):
        listed = list(wanted)
        asked.extend(listed)
        learn(self, listed)

    monkeypatch.setattr(clause_search.SearchBlankets, "learn", record)
    return asked


def source(*rules: str) -> sqlrl.Model:
    return sqlrl.parse_mln(SOURCE.split("\n\n", maxsplit=1)[0] + "\n\n" + "\n".join(rules))


def sizes(instance: Instance) -> list[str]:
    found = [f"{'' if x.positive else '!'}{x.predicate}" for x in instance.shape.literals]
    return sorted(found + ["="] * len(instance.shape.equalities))


def contains(large: list[str], small: list[str]) -> bool:
    return all(large.count(x) >= small.count(x) for x in small)


def fit(db: sqlrl.Database, model: sqlrl.Model, **given: object) -> Transfer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        return Transfer(**{"mapping": MAPPING, "max_literals": 3, **given}).fit(db, model)


@pytest.mark.slow
def test_too_general_clauses_only_get_literals(db: sqlrl.Database, candidates: list) -> None:
    # Each of the six employees leads two of fourteen people.
    found = fit(db, source("1 Prof(p) => Advises(p, s)"))
    assert found.diagnosis_.general == {0}
    assert not found.diagnosis_.specific
    searched = [sizes(instance) for instance, _ in candidates]
    begun = sorted(["!Employee", "Leads"])
    grown = [each for each in searched if len(each) > 1 and each != begun]
    assert found.candidates_ > 10
    assert len(grown) >= found.candidates_ - 4
    # An equality of two variables makes one of them, and takes literals that become the same.
    assert all(contains(each, begun) for each in grown)


def test_too_specific_clauses_only_lose_literals(db: sqlrl.Database, candidates: list) -> None:
    model = source("1 Advises(p, s) ^ Prof(s) => Student(s)")
    found = fit(db, model, threshold=0.1)
    assert found.diagnosis_.specific == {0}
    assert not found.diagnosis_.general
    whole = sorted(["!Leads", "!Employee", "Intern"])
    for instance, _ in candidates:
        assert contains(whole, sizes(instance)) or len(sizes(instance)) == 1
    # Each of its subsets at the most, in each of the searches: after each clause that is added there is one more.
    assert 0 < found.candidates_ <= 6 * (1 + len(found.added_))
    parts = {"!Leads(p, s)", "!Employee(s)", "Intern(s)"}
    added = [literals(row["clause"]) for row in found.added_]
    assert added
    assert all(each < parts for each in added)
    assert {row["revises"] for row in found.added_} == {"Leads(p, s) ^ Employee(s) => Intern(s)"}


def test_clauses_that_are_not_marked_are_not_revised(db: sqlrl.Database, candidates: list) -> None:
    model = source("1 Prof(p) => !Student(p)")
    with pytest.warns(NothingFoundWarning, match="no clause is marked by the diagnosis"):
        found = Transfer(mapping=MAPPING, threshold=0.9).fit(db, model)
    assert found.candidates_ == 0
    assert len(found.added_) == 0
    assert {len(sizes(instance)) for instance, _ in candidates} <= {1, 2}
    assert all(rule.weight is not None for rule in found.model_.rules)


@pytest.mark.slow
def test_clauses_of_a_single_atom_are_not_revised(db: sqlrl.Database, candidates: list) -> None:
    # Most people lead nobody, and two thirds of them are no employees.
    model = source("1 Advises(p, s)", "1 Prof(p)")
    found = fit(db, model)
    assert found.diagnosis_.general == {0, 1}
    assert found.candidates_ == 0
    # One whose arguments are equal is no such clause; without those of all predicates they are clauses like others.
    assert fit(db, source("1 Advises(p, p)"), max_literals=2).candidates_ > 0
    assert fit(db, model, unit_clauses=False, max_literals=2).candidates_ > 0


def test_further_operators_are_of_marked_clauses(db: sqlrl.Database, candidates: list) -> None:
    model = source("1 Prof(p) => Advises(p, s)", "1 Prof(p) => !Student(p)")
    found = fit(db, model, further=True)
    assert found.diagnosis_.general == {0}
    assert not found.diagnosis_.specific
    searched = [sizes(instance) for instance, _ in candidates]
    # Flipped signs of the one that is marked; all that is searched has both of its predicates.
    assert ["Employee", "Leads"] in searched
    assert ["!Employee", "!Leads"] in searched
    names = [{text.removeprefix("!") for text in each} for each in searched if len(each) > 1]
    assert all({"Leads", "Employee"} <= each or each == {"Employee", "Intern"} for each in names)


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("Student(p)", marks=pytest.mark.slow),
        "!Student(p)",
        pytest.param("!Advises(p, s)", marks=pytest.mark.slow),
        pytest.param("Advises(p, p)", marks=pytest.mark.slow),
    ],
)
def test_of_a_model_that_is_mended_statements_of_frequency_stay(
    db: sqlrl.Database, candidates: list, unit: str
) -> None:
    """More than a tenth of all atoms of each predicate are true, and more than a tenth are false; `Advises(p, p)` is no such statement."""
    given = {"threshold": 0.05, "unit_clauses": False, "max_literals": 2}
    fits = [fit(db, source(f"1 {unit}"), further=further, **given) for further in (False, True)]
    assert all(found.diagnosis_.general == {0} for found in fits)
    assert fits[0].candidates_ > 0
    assert (fits[1].candidates_ > 0) == (unit == "Advises(p, p)")


@pytest.mark.slow
def test_of_a_model_that_is_mended_clauses_keep_to_their_variables(db: sqlrl.Database, candidates: list) -> None:
    model = source("1 Prof(p) => Advises(p, s)", "1 Publishes(t, p) => Student(p)")
    sizes_of = []
    for further in (False, True):
        candidates.clear()
        found = fit(db, model, further=further, threshold=0.05)
        assert found.diagnosis_.general == {0, 1}
        sizes_of.append(max(len(instance.shape.variables) for instance, _ in candidates))
    assert sizes_of[0] > sizes_of[1] == 2


@pytest.mark.slow
def test_of_a_model_that_is_mended_statements_of_frequency_within_an_example_stay() -> None:
    db = sqlrl.connect()
    db.load(
        "Person", [(f"p{i}", f"f{f}") for f in range(3) for i in range(4)], types=["person", "firm"], example="column1"
    )
    db.load("Leads", [(f"p{i}", f"p{i + k}", f"f{f}") for f in range(3) for i in range(3) for k in (0, 1)], types=["person", "person", "firm"], example="column2")  # fmt: skip
    declared = "Person(person, firm)\nLeads(person, person, firm)\n"
    for rule, searched in (("1 Leads(x, y, u)", False), ("1 !Leads(x, y, u)", False), ("1 Leads(x, x, u)", True)):
        model = sqlrl.parse_mln(declared + rule)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingFoundWarning)
            found = Transfer(further=True).fit(db, model)
        assert found.diagnosis_.general == {0}
        assert (found.candidates_ > 0) == searched, rule


@pytest.mark.slow
def test_transfer_scores_fewer_candidates_than_msl_from_the_same_source(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(SOURCE)
    found = fit(db, model)
    mapped = sqlrl.parse_mln(
        SOURCE.replace("Student", "Intern")
        .replace("Prof", "Employee")
        .replace("Advises", "Leads")
        .replace("Publishes", "Works")
        .replace("paper", "project")
    )
    other = MSL(max_literals=3, max_clauses=3).fit(db, mapped)
    assert 0 < found.candidates_ < other.candidates_


@pytest.mark.slow
def test_the_same_bytes_twice() -> None:
    texts = []
    for _ in range(2):
        with company() as opened:
            found = fit(opened, sqlrl.parse_mln(SOURCE), random_state=5)
            rows = [found.diagnosis_.found.to_arrow(), found.diagnosis_.groundings.to_arrow(), found.added_.to_arrow()]
            texts.append((str(found.model_), [each.to_pylist() for each in rows], found.candidates_, found.score_))
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_names_of_variables_do_not_matter(db: sqlrl.Database) -> None:
    again = fit(db, source("1 Publishes(a, b) ^ Prof(c) => Advises(c, b)"))
    for x, y, t in ("xyz", ["v0", "v1", "v2"], ["v1", "v0", "v7"]):
        found = fit(db, source(f"1 Publishes({t}, {x}) ^ Prof({y}) => Advises({y}, {x})"))
        shown = [row["gain"] for row in found.added_]
        sqlrl.parse_mln(str(found.model_))
        assert shown == pytest.approx([row["gain"] for row in again.added_], rel=1e-9)
        assert shown
        assert again.candidates_ == found.candidates_
        assert sqlrl.models_equal(again.model_, found.model_) or sorted(
            rule.weight for rule in again.model_.rules
        ) == pytest.approx(sorted(rule.weight for rule in found.model_.rules), rel=1e-6)


def test_examples_as_arguments() -> None:
    db = sqlrl.connect()
    for name, rows in {
        "Person": [(f"p{i}", f"f{f}") for f in range(3) for i in range(4)],
        "Boss": [("p0", f"f{f}") for f in range(3)],
        "Leads": [("p0", f"p{i}", f"f{f}") for f in range(3) for i in range(1, 4)],
    }.items():
        db.load(name, rows, types=["person"] * (len(rows[0]) - 1) + ["firm"], example="column" + str(len(rows[0]) - 1))
    model = sqlrl.parse_mln(
        "Student(person, uni)\nProf(person, uni)\nAdvises(person, person, uni)\n1 Student(x, u) ^ Student(y, u) => Advises(x, y, u)\n1 Prof(x, u) ^ Student(y, u) => Advises(x, y, u)"
    )
    found = Transfer(mapping={"Student": "Person", "Prof": "Boss", "Advises": "Leads"}, max_literals=4).fit(db, model)
    assert found.diagnosis_.general == {0}
    for rule in found.model_.rules:
        examples = {str(atom.terms[-1]) for atom in sqlrl.logic.subformulas.atoms_of(rule.formula)}
        assert len(examples) == 1, rule
    # Everybody is led by the boss but the boss.
    row = {(r["rule"], r["target"]): r for r in found.diagnosis_.found}[1, "Leads"]
    assert (row["applies_good"], row["applies_bad"], row["idle_bad"]) == (9, 3, 0)
    assert row["idle_good"] == 3 * 4 * 4 - 12


# ---- bad input ----------------------------------------------------------------------------------------


PLAIN = "1 Prof(p) => !Student(p)"


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"Student": "Leads", "Prof": "Employee"}, "Student has 1 argument, and Leads has 2: map it to a predicate with as many, or to None"),
        ({"Publishes": "Leads", "Student": "Intern", "Advises": "Works"}, "maps the type person to"),
        ({"Student": "Intern", "Prof": "Intern"}, "Intern is already the counterpart of Student"),
        ({"Student": "Interns", "Prof": "Employee"}, "there is no target predicate 'Interns'; did you mean 'Intern'?"),
        ({"Students": "Intern"}, "there is no source predicate 'Students'"),
        (3, "mapping=3 must be a dict of predicates, a sqlrl.PredicateMapping, or the path of a file with a mapping of predicates"),
        (None, "Prof"),
    ],
)  # fmt: skip
def test_mappings_that_do_not_fit(db: sqlrl.Database, mapping: object, message: str) -> None:
    with pytest.raises((InputError, ModelError)) as caught:
        Transfer(mapping=mapping).fit(db, source(PLAIN))
    assert message in str(caught.value)
    if mapping is None:
        assert "mapping=" in str(caught.value)
        assert "Student" in str(caught.value)


def test_a_mapping_in_a_file(db: sqlrl.Database, tmp_path: Path) -> None:
    path = tmp_path / "names.map"
    path.write_text("\n".join(f"{a} -> {b}" for a, b in MAPPING.items()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        one = Transfer(mapping=path).fit(db, source(PLAIN))
        other = Transfer(mapping=MAPPING).fit(db, source(PLAIN))
    assert str(one.model_) == str(other.model_)
    kept = db.sql(f"select parameters from sqlrl.run where run = {one.run_}").fetchall()
    assert "Student -> Intern" in json.loads(kept[0][0])["mapping"]


@pytest.mark.slow
def test_what_the_target_cannot_say_is_dropped_and_listed(db: sqlrl.Database) -> None:
    model = source(
        "1 Publishes(t, p) => Student(p)", "1 Advises(p, s) => Prof(p)", "2 Student(p) v !Prof(p)", "3 !Prof(q) v Student(q)",
        "1 Advises(Ann, s) => Student(s)", "1 Student(Ann) v !Student(Bob)", "1 Advises(p, s) v !Advises(p, s)",
    )  # fmt: skip
    mapping = sqlrl.PredicateMapping(
        {"Student": "Intern", "Prof": "Employee", "Publishes": None, "Advises": None},
        {"person": {"Ann": "e0", "Bob": "e0"}},
    )
    found = fit(db, model, mapping=mapping, max_literals=2)
    assert [row["why"] for row in found.dropped_] == [
        "predicate",
        "predicate",
        "equal",
        "predicate",
        "tautology",
        "predicate",
    ]
    mapping = sqlrl.PredicateMapping(MAPPING, {"person": {"Ann": "e0"}})
    found = fit(db, model, mapping=mapping, max_literals=2)
    assert [row["why"] for row in found.dropped_] == ["equal", "constant", "tautology"]
    assert (
        "no counterpart for the constant Bob of the type person"
        in found.dropped_.to_arrow().column("reason")[1].as_py()
    )


def test_no_rule_is_left(db: sqlrl.Database) -> None:
    model = source("1 Publishes(t, p) => Advises(p, p)")
    with pytest.warns(NothingFoundWarning) as caught:
        found = Transfer(mapping={"Student": "Intern", "Publishes": None}).fit(db, model)
    assert str(caught[0].message) == (
        "no rule of the source can be said with the predicates of the data; dropped_ lists why"
    )
    assert [row["why"] for row in found.dropped_] == ["predicate"]
    # Only how frequent each predicate is can be learned.
    assert len(found.model_.rules) == 4


def test_a_model_without_clauses(db: sqlrl.Database) -> None:
    with pytest.raises(InputError, match="the model has no rules, so there is nothing to transfer"):
        Transfer(mapping=MAPPING).fit(db, source())
    with pytest.raises(InputError, match="the model has no rules, so there is nothing to diagnose: write some"):
        db.diagnose(sqlrl.parse_mln("Intern(person)"), kind="paper")


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 10, float("nan"), True])
def test_thresholds(db: sqlrl.Database, threshold: float) -> None:
    with pytest.raises(InputError, match="threshold="):
        Transfer(threshold=threshold, mapping=MAPPING).fit(db, source(PLAIN))
    with pytest.raises(InputError, match="threshold="):
        db.diagnose(sqlrl.parse_mln("Intern(person)\n1 Intern(x)"), kind="paper", threshold=threshold)


def test_a_beam_of_zero(db: sqlrl.Database) -> None:
    with pytest.raises(InputError, match="beam=0"):
        Transfer(beam=0, mapping=MAPPING).fit(db, source(PLAIN))


@pytest.mark.parametrize(
    "given", [{"samples": 0}, {"burn_in": -1}, {"chains": 0}, {"shown": -1}, {"samples": 1.5}, {"random_state": -1}]
)
def test_options_of_diagnose(db: sqlrl.Database, given: dict) -> None:
    (name,) = given
    with pytest.raises(InputError, match=name.replace("random_state", "seed")):
        db.diagnose(sqlrl.parse_mln("Intern(person)\n1 Intern(x)"), kind="paper", **given)


def test_weights_that_sampling_needs(db: sqlrl.Database) -> None:
    declared = "Intern(person)\nLeads(person, person)\n"
    with pytest.raises(InputError) as caught:
        db.diagnose(sqlrl.parse_mln(declared + "Leads(x, y) => Leads(y, x)"), kind="paper")
    assert str(caught.value) == (
        "<text>:3: Leads(x, y) => Leads(y, x) has several literals of Leads, whose atoms are sampled, and the rules that mention Leads need weights for that: learn them first, "
        "with sqlrl.PseudoLikelihood"
    )
    db.diagnose(sqlrl.parse_mln(declared + "Leads(x, y) => Intern(y)"), kind="paper")


def test_an_empty_target_domain() -> None:
    db = sqlrl.connect()
    db.load("Intern", [("a",), ("b",)], types=["person"])
    db.load("Works", [], types=["project", "person"], empty="allow")
    found = db.diagnose(
        sqlrl.parse_mln("Intern(person)\nWorks(project, person)\n1 Works(t, x) => Intern(x)\n1 Intern(x)"), kind="paper"
    )
    rows = {(row["rule"], row["target"]): row for row in found.found}
    assert [rows[0, "Works"][name] for name in ("applies_good", "applies_bad", "idle_good", "idle_bad")] == [0, 0, 0, 0]
    assert not rows[0, "Works"]["too_general"]
    assert str(found) == "no rule is marked"
    model = source("1 Publishes(t, p) => Student(p)")
    with pytest.warns(NothingFoundWarning, match="no clause is marked"):
        learned = Transfer(mapping={"Student": "Intern", "Publishes": "Works"}).fit(db, model)
    assert all(rule.weight == rule.weight for rule in learned.model_.rules)


@pytest.mark.slow
def test_hard_rules_that_the_data_violate(db: sqlrl.Database) -> None:
    hard = (
        "Student(p).",
        "Publishes(t, p) ^ Publishes(t, s) => Advises(p, s).",
        "1 Publishes(t, p) => Student(p)",
        "1 Advises(p, s) => Advises(s, p)",
    )
    with pytest.warns(InfeasibleTruthWarning, match="Intern\\(p\\)"):
        found = fit(db, source(*hard))
    kept = [str(rule) for rule in found.model_.rules if rule.hard]
    assert len(kept) == 2
    assert found.diagnosis_.general == {0, 3}
