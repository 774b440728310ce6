"""The experiment on sparse relations: what is read and generated, its jobs, and the arithmetic of its table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from harness import Measured, Options
from relations import GENERATED_TYPES, RULES, TYPES, generate_relations, read_facts, read_relations
from sparse_relations import GENERATED_LINKS, REPORTED, Job, Outcome, make_jobs, run, summarise


def test_databases_are_read_by_area(tmp_path: Path) -> None:
    folder = tmp_path / "imdb"
    folder.mkdir()
    (folder / "fold2.db").write_text("actor(B)\nworkedUnder(B, C)\n\nactor(B)\n", encoding="utf-8")
    (folder / "fold1.db").write_text("actor(A)\nmovie(T, A)\n", encoding="utf-8")
    found = read_relations(tmp_path, "imdb")
    assert list(found.areas) == ["fold1", "fold2"]
    assert found.areas["fold2"] == {"actor": [("B",)], "workedUnder": [("B", "C")]}
    assert read_facts(folder / "fold1.db")["movie"] == [("T", "A")]
    # All pairs of people of an area, those of labels among them.
    assert found.pairs("fold2") == [("B", "B"), ("B", "C"), ("C", "B"), ("C", "C")]
    assert found.target == "workedUnder"


@pytest.mark.parametrize("seed", range(4))
def test_generated_links_are_sparse_and_follow_their_rules(seed: int) -> None:
    found = generate_relations(seed, lost=0.0)
    assert found == generate_relations(seed, lost=0.0) != generate_relations(seed + 1, lost=0.0)
    pairs = sum(len(found.pairs(area)) for area in found.areas)
    true = sum(len(facts["Guides"]) for facts in found.areas.values())
    assert 0.004 < true / pairs < 0.01
    met, right = [0, 0, 0], [0, 0, 0]
    explained = 0
    for facts in found.areas.values():
        wrote, taught, assisted = (set(facts[x]) for x in ("Wrote", "Taught", "Assisted"))
        stage, rank, guides = dict(facts["Stage"]), dict(facts["Rank"]), set(facts["Guides"])
        assert len({a for a, _ in guides}) == len(guides)
        bodies = (
            {(a, b) for t, a in wrote for u, b in wrote if t == u and a in stage and b in rank},
            {(a, b) for c, a, q in assisted for d, b, r in taught if (c, q) == (d, r) and stage[a] == "Late"},
            {(a, b) for a in stage for b in rank if rank[b] == "Full"},
        )
        for k, body in enumerate(bodies):
            met[k], right[k] = met[k] + len(body), right[k] + len(body & guides)
        # Nothing else makes a pair true.
        explained += len(guides & set().union(*bodies))
    assert explained == true
    for k, (chance, _) in enumerate(RULES):
        # Others make pairs true as well, and of several guides one stays.
        assert 0.6 * chance < right[k] / met[k] < chance + 0.2


def test_facts_are_lost_and_links_are_not() -> None:
    whole, less = (generate_relations(5, lost=lost) for lost in (0.0, 0.3))
    for name in GENERATED_TYPES:
        count, left = (sum(len(facts[name]) for facts in found.areas.values()) for found in (whole, less))
        if name != "Guides":
            assert 0.5 * count < left < 0.9 * count


def test_jobs_are_all_links_and_systems() -> None:
    options = Options(Path("data"), chosen={"link": "generated-1"})
    jobs = make_jobs(options)
    assert [(job.system, job.area) for job in jobs] == [
        (system, area) for system in ("ILP", "ILP, cover", "rules") for area in range(5)
    ]
    (quick,) = make_jobs(Options(Path("data"), quick=True, chosen={"system": "ILP"}))
    assert (quick.link, quick.area) == (GENERATED_LINKS[0], 0)
    assert quick.nodes is not None
    (only,) = make_jobs(Options(Path("data"), fold="3", chosen={"link": "generated-0", "system": "rules"}))
    assert only.area == 2


def test_the_table_has_means_beside_what_others_had() -> None:
    one = Outcome("fold1", 0.25, 100, 1, 4, 9, 1.0, 0.5, 0.25, "{}")
    jobs = [Job("", "uw-cse", "ILP", k, 0) for k in range(2)]
    values = [one, replace(one, area="fold2", precision=0.35, true=3, clauses=6, seconds_clauses=3.0)]
    rows = summarise(jobs, [Measured(value, 9.0, 100.0 + k) for k, value in enumerate(values)])
    assert {row["system"]: row["map"] for row in rows if row["whose"] == "reported"} == REPORTED["uw-cse"]
    row = rows[-1]
    assert (row["map"], row["sd"], row["prior"], row["clauses"]) == (0.3, 0.071, 0.02, 5.0)
    assert (row["seconds"], row["seconds_most"], row["folds"], row["memory_mb"]) == (2.8, 3.8, 2, 101)


def test_a_run_keeps_the_parameters_that_it_had() -> None:
    (job,) = make_jobs(Options(Path("data"), quick=True, chosen={"system": "ILP"}))
    found = run(job)
    parameters = json.loads(found.parameters)
    assert parameters["command"] == "rank"
    assert parameters["min_accuracy"] == pytest.approx(
        parameters["min_lift"] * (137 - found.true) / (5 * 56 * 56 - found.pairs)
    )
    assert {"literal", "constant", "width", "instances"} <= set(parameters)
    assert found.precision > 10 * found.true / found.pairs


@pytest.mark.parametrize("link", ["imdb", "webkb-relational", "uw-cse"])
def test_types_hold_for_the_data(link: str, data_folder: Path) -> None:
    """Each predicate of the files has the arity that is declared."""
    for file in (data_folder / link).glob("*.db"):
        for name, rows in read_facts(file).items():
            assert {len(row) for row in rows} == {len(TYPES[link][name])}
