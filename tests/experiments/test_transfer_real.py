"""The experiment on transfer between real domains: its jobs, the arithmetic of its table, and runs on small domains of the same form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from accuracy import Accuracy
from harness import Measured, Options
from relations import TYPES
from transfer_domains import MAPPINGS, read_domain, sizes
from transfer_real import (
    DISCRIMINATIVE,
    FOLDS,
    FOUND,
    GIVEN,
    LEARNED,
    MSL,
    PAIRS,
    QUICK_PAIR,
    SCRATCH,
    SYSTEMS,
    Job,
    Outcome,
    Source,
    details_of,
    learn_source,
    make_jobs,
    run,
    sources_of,
    summarise,
)

Outcomes = Callable[..., Outcome]
SOURCE = (
    "student(person)\nfaculty(person)\nproject(project, person)\ncourseProf(course, person)\ncourseTA(course, person)\n"
)
WRITTEN = (
    SOURCE
    + "1 student(x) v faculty(x)\n1 !student(x) v !faculty(x)\n1 !project(p, x) v student(x) v !courseProf(c, x)\n"
)


def write_imdb(folder: Path, changed: str | None = None) -> Path:
    """Write five folds in which directors make movies with actors who work for them; actors and movies of a `changed` one are others."""
    (folder / "imdb").mkdir(parents=True)
    for number, fold in enumerate(FOLDS):
        random = np.random.default_rng(10 * number + (5 if fold == changed else 0))
        actors, directors = [f"A{number}{k}" for k in range(8)], [f"D{number}{k}" for k in range(2)]
        lines = [f"actor({x})" for x in actors] + [f"director({x})" for x in directors]
        lines += [f"gender({x}, {random.choice(['Male', 'Female'])})" for x in actors]
        lines += [f"genre({x}, {random.choice(['Drama', 'Comedy'])})" for x in directors]
        for k in range(4):
            director, team = directors[k % 2], random.choice(actors, size=3, replace=False)
            lines += [f"movie(M{number}{k}, {x})" for x in (director, *team)]
            lines += [f"workedUnder({x}, {director})" for x in team]
        (folder / "imdb" / f"{fold}.db").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def job(data: Path, system: str, fold: str = "fold2", literals: int = 2) -> Job:
    source = "" if system in (SCRATCH, DISCRIMINATIVE) else "webkb-relational"
    return Job(data, system, "imdb", fold, source, WRITTEN if source else "", literals, 0)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Return what gives the outcome of a system that leaves the second fold out, with one fold changed or none."""

    @cache
    def data(changed: str | None) -> Path:
        return write_imdb(tmp_path_factory.mktemp("data"), changed)

    @cache
    def outcome_of(system: str, changed: str | None = None) -> Outcome:
        return run(job(data(changed), system))

    return outcome_of


# ---- jobs ------------------------------------------------------------------------------------------------------------


def test_systems_without_a_source_run_once_for_each_target() -> None:
    options = Options(Path("data"))
    sources = {name: Source(f"model of {name}", 1, 1, 1, 1.0) for name in sources_of(options)}
    assert set(sources) == set(TYPES) & {source for source, _ in PAIRS.values()}
    jobs = make_jobs(options, sources)
    assert len(jobs) == len(set(jobs)) == (3 * len(PAIRS) + 2 * 2) * len(FOLDS)
    for each in jobs:
        if each.system in (SCRATCH, DISCRIMINATIVE):
            assert (each.source, each.model) == ("", "")
        else:
            assert (each.source, each.target) in MAPPINGS
            assert each.model == f"model of {each.source}"


@pytest.mark.parametrize(
    ("options", "learned", "count"),
    [
        (Options(Path(), quick=True), ["webkb-relational"], len(SYSTEMS)),
        (Options(Path(), chosen={"system": SCRATCH}), [], 2 * len(FOLDS)),
        (Options(Path(), chosen={"system": MSL}, fold="fold3"), ["uw-cse", "imdb", "webkb-relational"], 3),
        (Options(Path(), chosen={"pair": "imdb to uw-cse"}), ["imdb"], len(SYSTEMS) * len(FOLDS)),
    ],
)
def test_only_what_is_asked_for_is_run(options: Options, learned: list[str], count: int) -> None:
    assert sources_of(options) == learned
    jobs = make_jobs(options, dict.fromkeys(learned, Source("", 0, 0, 0, 0.0)))
    assert len(jobs) == count
    assert {each.fold for each in jobs} <= {options.fold or each.fold for each in jobs}
    if options.quick:
        assert {(each.source or PAIRS[QUICK_PAIR][0], each.target) for each in jobs} == {PAIRS[QUICK_PAIR]}


# ---- the table -------------------------------------------------------------------------------------------------------


def outcome(p: tuple[float, float], q: tuple[float, float], **more: object) -> Outcome:
    """Return an outcome with AUC and CLL of two predicates."""
    scores = {
        name: Accuracy(cll, auc, 10, 0 if math.isnan(auc) else 2, 1, 0.5)
        for name, (auc, cll) in {"p": p, "q": q}.items()
    }
    found = Outcome(scores, 100, 10, 5, 4, 2, 3.0, {"search": 2.0}, "model")
    return replace(found, **more)  # type: ignore[arg-type]


def test_the_table_has_means_errors_and_gains() -> None:
    data, nan = Path(), math.nan
    runs = [
        (GIVEN, "fold1", outcome((0.8, -0.1), (0.4, -0.3), candidates=120)),
        (GIVEN, "fold2", outcome((0.6, -0.2), (nan, -0.5), seconds=5.0, parts={"search": 2.5, "diagnosis": 1.0})),
        (SCRATCH, "fold1", outcome((0.5, -0.4), (0.3, -0.4))),
        (SCRATCH, "fold2", outcome((0.7, -0.4), (nan, -0.4))),
    ]
    jobs = [job(data, system, fold) for system, fold, _ in runs]
    only = Outcome({"q": Accuracy(-0.2, 0.9, 10, 2, 0, 0.5)}, 70, None, 3, None, None, 1.5, {}, "model")
    jobs.append(job(data, DISCRIMINATIVE, "fold1"))
    results = [Measured(found, 1.0, 10.0) for _, _, found in runs] + [Measured(only, 1.0, 10.0)]
    table = summarise(jobs, results, {"webkb-relational": Source("m", 254, 3, 7, 1.94)})
    rows = {(row["system"], row["predicate"]): row for row in table}
    assert [row["system"] for row in table] == [LEARNED, *[GIVEN] * 3, *[SCRATCH] * 3, DISCRIMINATIVE]
    assert (table[0]["source"], table[0]["candidates"], table[0]["seconds"]) == ("webkb-relational", 254, 1.9)
    mean = rows[GIVEN, "mean"]
    # AUC of the mega-examples: (.8 + .4) / 2 and .6 alone; of ScratchMSL .4 and .7.
    assert (mean["auc"], mean["auc_se"], mean["folds"]) == (0.6, 0.0, 2)
    assert (mean["auc_gain"], mean["auc_gain_se"]) == (0.05, 0.15)
    # CLL: -.2 and -.35; of ScratchMSL -.4 both times.
    assert (mean["cll"], mean["cll_se"], mean["cll_gain"]) == (-0.275, 0.075, 0.125)
    assert (mean["candidates"], mean["seconds"], mean["seconds_most"]) == (110.0, 4.0, 5.0)
    assert (mean["mapped"], mean["marked"], mean["sampled"], mean["seconds_infer"]) == (4.0, 2.0, 4, 1.0)
    assert (mean["seconds_search"], mean["seconds_diagnosis"]) == (2.25, 1.0)
    q = rows[GIVEN, "q"]
    assert (q["auc"], q["auc_se"], q["auc_gain"], q["folds"], q["prior"]) == (0.4, None, 0.1, 1, 0.1)
    assert (q["cll"], q["candidates"]) == (-0.4, None)
    assert (rows[SCRATCH, "mean"]["auc_gain"], rows[SCRATCH, "mean"]["source"]) == (None, None)
    reference = rows[DISCRIMINATIVE, "q"]
    assert (reference["auc"], reference["candidates"], reference["statements"], reference["clauses"]) == (
        0.9,
        70,
        None,
        3,
    )
    single = {row["predicate"]: row for row in details_of(jobs[1], results[1])}
    assert (single["q"]["auc"], single["q"]["cll"], single["q"]["fold"]) == (None, -0.5, "fold2")
    assert (single["p"]["seconds"], single["p"]["seconds_infer"]) == (5.0, 0.5)
    assert (single["p"]["seconds_search"], "parts" in single["p"]) == (2.5, False)


# ---- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [GIVEN, DISCRIMINATIVE])
def test_the_mega_example_that_is_left_out_has_no_part_in_learning(system: str, outcomes: Outcomes) -> None:
    """Where other actors make its movies the model is the same to the last digit; where they make those of another, it is not."""
    found = outcomes(system)
    assert outcomes(system, "fold2").model == found.model
    if system == DISCRIMINATIVE:
        assert outcomes(system, "fold4").model != found.model
    assert list(found.accuracy) == (["workedUnder"] if system == DISCRIMINATIVE else list(TYPES["imdb"]))
    assert found.accuracy["workedUnder"].atoms == 100


def test_mappings_say_which_rules_are_carried_over(outcomes: Outcomes) -> None:
    """Of three rules one is about courses: the given mapping loses it."""
    given, found, msl, scratch = (outcomes(system) for system in (GIVEN, FOUND, MSL, SCRATCH))
    assert (given.mapped, msl.mapped, scratch.mapped) == (2, 2, None)
    assert given.marked is not None
    assert given.mapping == msl.mapping == ""
    # Actors are no directors in these data, which is what exclusive classes become.
    became = dict(line.split("  ->  ") for line in found.mapping.splitlines())
    assert set(became["!student(x) v !faculty(x)"].split(" v ")) == {"!actor(x)", "!director(x)"}


def test_actors_and_directors_are_told_apart(outcomes: Outcomes) -> None:
    """Each person is either, which the source says of students and faculty: all are ranked right."""
    for name in ("actor", "director"):
        assert outcomes(GIVEN).accuracy[name].auc == 1.0
        assert outcomes(GIVEN).accuracy[name].cll > -0.1


def test_runs_on_the_real_domains(data_folder: Path) -> None:
    """What a source model is, and that all atoms of a mega-example are scored, whose numbers are counted from the files."""
    source = learn_source(data_folder, "webkb-relational", 2)
    # In the files no student is of the faculty.
    areas = read_domain(data_folder, "webkb-relational").areas.values()
    assert not any(set(facts["student"]) & set(facts["faculty"]) for facts in areas)
    lines = [line.split(maxsplit=1) for line in source.model.splitlines() if " v " in line]
    exclusive = [
        float(weight) for weight, clause in lines if {"!student(v0)", "!faculty(v0)"} == set(clause.split(" v "))
    ]
    assert len(exclusive) == 1
    assert exclusive[0] > 1
    found = run(replace(job(data_folder, GIVEN, "fold3"), model=source.model))
    counted = {
        str(row["predicate"]): (row["atoms"], row["true"])
        for row in sizes("imdb", read_domain(data_folder, "imdb"))
        if row["example"] == "fold3" and row["predicate"] != "all"
    }
    assert {name: (each.atoms, each.true) for name, each in found.accuracy.items()} == counted
    reference = run(job(data_folder, DISCRIMINATIVE, "fold3"))
    assert list(reference.accuracy) == ["workedUnder"]
    assert reference.accuracy["workedUnder"].auc > 0.9
