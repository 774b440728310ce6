"""Friends of the centre of an ego network on Last.fm: structure that resolwe chooses, against weights of all formulations there are.

After the Delicious experiment of "Structure Selection from Streaming Relational Data", section 4, on the subgraphs of `lastfm.py`. A grammar relates candidates
to the centre by what they have in common with it, and to each other by friendships and by common artists and tags. Four folds of subgraphs; of the
training subgraphs a third chooses structure, and the others learn its weights by contrastive divergence. skipSelection learns weights of every
formulation that resolwe could have kept, on all training subgraphs, with the same learner. Threshold, support and learning rate come from
training folds alone: structure is counted on the third that chooses, and what each setting keeps is learned on some of the others and
scored on the rest of them. Baselines rank the same test subgraphs.

    python experiments/lastfm_friends.py [--quick] [--fold N] [--every N] [--system NAME] [--processes N] [--seed N] [--db FILE] [--json FILE] [--data DIR]

prints the paper's minutes beside ours, MAP and AUC with their standard errors over test subgraphs, and the mean difference of MAP to skipSelection over the
test subgraphs with its 95 % interval. skipSelection grounds thousands of clauses for each pair of candidates; `--every N` takes every N-th centre alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import duckdb
import lastfm
import numpy as np
import pyarrow as pa
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import RankingScores, paired_difference, score_rankings
from sqlrl.structure.resolwe.selection import Default

GRAMMAR = """
CENTRE(v) = {taggedBefore(a, v), taggedAfter(a, v), taggedSame(a, v), listens(a, v), usedTag(t, v)} compounder 2
USERS(v, w) = {friends, sameArtist_1, sameArtist_3, sameArtist_10, sameTag_1, sameTag_3, sameTag_10} extender 2
CENTRE(v) ^ [!]cFriends(v)
USERS(v, w) ^ cFriends(v) ^ cFriends(w)
CENTRE(v) ^ USERS(v, w) ^ cFriends(v) ^ cFriends(w)
"""

SMALL = """
CENTRE(v) = {taggedBefore(a, v), listens(a, v), usedTag(t, v)} compounder 2
USERS(v, w) = {friends, sameArtist_10}
CENTRE(v) ^ [!]cFriends(v)
USERS(v, w) ^ cFriends(v) ^ cFriends(w)
CENTRE(v) ^ USERS(v, w) ^ cFriends(v) ^ cFriends(w)
"""
"""The grammar of a quick run."""

FOLDS = ("1", "2", "3", "4")

SELECT = 1 / 3
"""The share of the training subgraphs that chooses structure."""

VALIDATED = 1 / 3
"""The share of the other training subgraphs that settings are scored on, when they are chosen."""

QUICK = 28
"""Centres of a quick run, evenly spaced."""

QUICK_THIN = 8
"""Of how many settings a quick run tries one."""

THRESHOLDS: dict[Default, tuple[float, ...]] = {"sparse": (0.45, 0.5), "estimated": (0.55,)}
"""Least probabilities; with an estimated default those below a half would keep everything."""

IMPLICATIONS = (0.7, 1.0)
"""Least probabilities of implications; 1 keeps none."""

SUPPORTS = (2_400, 9_600)
"""Least numbers of selected groundings, where 458 subgraphs choose; where fewer do, as much less."""

JOINT_SUPPORTS = (6_000, 18_000, 54_000)
"""The same for formulations of two query literals."""

CHOOSING = 458
"""Subgraphs that choose in each fold."""

MOST = 20
"""The most formulations that are kept."""

RATES = (0.1, 0.5)
"""Learning rates of contrastive divergence."""

SWEEPS = 1
WINDOW = 8
"""Subgraphs that are grounded together, for every system: eight of skipSelection take up to 7 GB."""

SYSTEMS = ("resolwe", "resolwe, estimated", "skipSelection")
DEFAULTS: dict[str, Default] = {"resolwe": "sparse", "resolwe, estimated": "estimated"}

PAPER = {"resolwe": (30.66, 62.76, 93.42), "skipSelection": (None, 602.08, 602.08)}
"""Minutes of steps 2 and 3 and of both on Delicious (table 5); MAP and AUC are in a figure alone."""

COLUMNS = (
    "system", "whose", "fold", "subgraphs", "formulations", "map", "map_error", "auc", "auc_error", "step_2_seconds", "step_3_seconds", "seconds",
    "memory_mb", "difference", "low", "high", "threshold", "implications", "support", "joint_support", "rate",
)  # fmt: skip
"""`difference` is the MAP of resolwe less that of the row, over the same test subgraphs, and `low` and `high` the ends of its interval; seconds are means
over folds."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is chosen on training folds: of `Resolwe`, but for the learning rate of the learner of weights."""

    threshold: float
    implication_threshold: float
    min_support: int
    joint_support: int
    learning_rate: float


@dataclass(frozen=True, slots=True)
class Job:
    """One fold and system; `setting` is None where it is still to be chosen, `every` are all formulations, for skipSelection, and of settings every
    `thin`-th is tried."""

    folder: str
    seed: int
    fold: str
    system: str
    train: tuple[int, ...]
    test: tuple[int, ...]
    grammar: str
    setting: Setting | None = None
    every: tuple[str, ...] = ()
    thin: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for a fold: the setting, its MAP where it was scored, how many models were tried, and all formulations."""

    setting: Setting
    score: float
    tried: int
    formulations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """How well the candidates of each test subgraph are ranked, as `RankingScores` has it."""

    example: tuple[str, ...]
    atoms: tuple[int, ...]
    true: tuple[int, ...]
    average_precision: tuple[float, ...]
    auc: tuple[float, ...]

    @classmethod
    def of(cls, scores: RankingScores) -> Ranked:
        """Return what is kept of scores."""
        columns = (scores.atoms, scores.true, scores.average_precision, scores.auc)
        return cls(tuple(map(str, scores.example.tolist())), *(tuple(x.tolist()) for x in columns))

    def scores(self) -> RankingScores:
        """Return the scores."""
        numbers = (np.array(self.atoms), np.array(self.true), np.array(self.average_precision), np.array(self.auc))
        return RankingScores(np.array(self.example), *numbers)

    def __add__(self, other: Ranked) -> Ranked:
        return Ranked(*(getattr(self, name) + getattr(other, name) for name in Ranked.__slots__))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave: rules with their weights, seconds of steps 2 and 3 and of the test, and the rankings."""

    weights: tuple[tuple[str, float], ...]
    step_2: float | None
    step_3: float
    seconds_test: float
    ranked: Ranked


# ---- data ----------------------------------------------------------------------------------------------------


def make_folds(centres: Sequence[int], seed: int) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the training and test centres of each fold, in the order of the stream, which is random."""
    order = np.random.default_rng(seed).permutation(np.asarray(centres))
    parts = [part.tolist() for part in np.array_split(order, len(FOLDS))]
    return {
        name: (tuple(x for j, part in enumerate(parts) if j != i for x in part), tuple(parts[i]))
        for i, name in enumerate(FOLDS)
    }


def load(job: Job) -> sqlrl.Database:
    """Return a database with the subgraphs of a fold."""
    with lastfm.connect(job.folder, job.seed) as con:
        tables = lastfm.window(con, [*job.train, *job.test])
    db = sqlrl.connect(progress=False)
    for name, types in lastfm.TYPES.items():
        if name == lastfm.TARGET:
            db.load(name, tables[name], types=types, example="example", target=True, truth="truth")
        else:
            db.load(name, tables[name], types=types, example="example", empty="allow")
    db.scope(lastfm.TARGET, tables[lastfm.TARGET].select(["user", "example"]))
    return db


def model_of(rules: Sequence[str] = ()) -> sqlrl.Model:
    """Return a model of the predicates, and if there are rules, of a unit clause and these, all with weight 0."""
    declared = [f"{name}({', '.join(types)})" for name, types in lastfm.TYPES.items()]
    weighted = [f"0 {rule}" for rule in (f"{lastfm.TARGET}(v)", *rules)] if rules else []
    return sqlrl.parse_mln("\n".join([*declared, *weighted]), query=(lastfm.TARGET,))


def names(centres: Sequence[int]) -> list[str]:
    """Return centres as examples are named."""
    return list(map(str, centres))


def learner(rate: float, seed: int, window: int | None = WINDOW) -> sqlrl.baselines.ContrastiveDivergence:
    """Return the learner of weights, the same for every system; windows make no difference to what it learns."""
    return sqlrl.baselines.ContrastiveDivergence(learning_rate=rate, sweeps=SWEEPS, window=window, random_state=seed)


# ---- settings --------------------------------------------------------------------------------------------------

KEPT = """
SELECT formula FROM (
    SELECT *, row_number() OVER () AS place, CASE WHEN implied IS NULL THEN $threshold ELSE $implied END AS least,
        CASE WHEN joint THEN $joint ELSE $support END AS needed FROM found
) WHERE support >= needed AND CASE WHEN $estimated
    THEN p_value < $significance AND (probability >= 0.5 AND bound >= least OR probability < 0.5 AND bound <= 1 - least)
    ELSE bound >= least END
ORDER BY CASE WHEN $estimated THEN abs(bound - 0.5) ELSE bound END DESC, support DESC, place LIMIT $most
"""
"""The formulations that a setting keeps, best first, as `Resolwe` does."""


def kept(found: pa.Table, setting: Setting, default: Default) -> list[str]:
    """Return the formulations that a setting keeps, of those of a run with the same default."""
    values = {
        "threshold": setting.threshold,
        "implied": setting.implication_threshold,
        "support": setting.min_support,
        "joint": setting.joint_support,
        "estimated": default == "estimated",
        "significance": sqlrl.Resolwe(GRAMMAR).significance,
        "most": MOST,
    }
    with duckdb.connect() as con:
        several = [text.count(f"{lastfm.TARGET}(") > 1 for text in found["formula"].to_pylist()]
        con.register("found", found.append_column("joint", pa.array(several)))
        return [formula for (formula,) in con.execute(KEPT, values).fetchall()]


def settings(default: Default, choosing: int) -> list[Setting]:
    """Return all settings but for the learning rate, where so many subgraphs choose."""
    one, joint = ([max(1, round(x * choosing / CHOOSING)) for x in supports] for supports in (SUPPORTS, JOINT_SUPPORTS))
    return [Setting(*each, RATES[0]) for each in product(THRESHOLDS[default], IMPLICATIONS, one, joint)]


def divided(train: Sequence[int]) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return which training subgraphs choose structure, and of the others those that learn weights and those that score settings."""
    first = round(SELECT * len(train))
    scoring = max(1, round(VALIDATED * (len(train) - first)))
    return train[:first], train[first:-scoring], train[-scoring:]


def choose(job: Job) -> Choice:
    """Choose a setting on the training subgraphs of a fold: the structure first, and then the learning rate."""
    default, db = DEFAULTS[job.system], load(job)
    first, learning, scoring = divided(job.train)
    # One subgraph learns the weight of the most probable formulation, which is not looked at; the table has all of them.
    lowest = Setting(min(THRESHOLDS[default]), 1.0, 1, 1, RATES[0])
    counting = estimator(job, lowest, len(first), top=1).fit(db, model_of(), examples=names([*first, learning[0]]))
    found, done = counting.formulations_.to_arrow(), dict[tuple[tuple[str, ...], float], float]()

    def score(setting: Setting) -> float:
        """Return the MAP of a setting on the subgraphs that score settings; -1 where it keeps nothing."""
        rules = tuple(kept(found, setting, default))
        key = (rules, setting.learning_rate)
        if not rules:
            return -1.0
        if key not in done:
            fit = learner(setting.learning_rate, job.seed, None).fit(db, model_of(rules), examples=names(learning))
            done[key] = rank(db, fit.model_, scoring).mean_average_precision
        return done[key]

    best = max(settings(default, len(first))[:: job.thin], key=score)
    best = max((replace(best, learning_rate=rate) for rate in RATES), key=score)
    return Choice(best, score(best), len(done), tuple(found["formula"].to_pylist()))


# ---- training and test -------------------------------------------------------------------------------------------


def estimator(job: Job, setting: Setting, select: int, top: int = MOST) -> sqlrl.Resolwe:
    """Return resolwe with a setting."""
    return sqlrl.Resolwe(
        sqlrl.parse_grammar(job.grammar),
        threshold=setting.threshold,
        implication_threshold=setting.implication_threshold,
        min_support=setting.min_support,
        joint_support=setting.joint_support,
        top=top,
        default=DEFAULTS[job.system],
        select=select,
        weights=learner(setting.learning_rate, job.seed),
    )


def rank(db: sqlrl.Database, model: sqlrl.Model, centres: Sequence[int]) -> RankingScores:
    """Rank the candidates of subgraphs by their marginals."""
    scores: RankingScores = db.evaluate(db.probabilities(model, examples=names(centres))).by_example()
    return scores


def run(job: Job) -> Outcome:
    """Learn on the training subgraphs of a fold, and rank the candidates of the others."""
    assert job.setting is not None, "it was chosen"
    db, train = load(job), names(job.train)
    # Without a limit, groundings are not counted before they are made, which would take skipSelection a query for each of thousands of formulas.
    if job.system == "skipSelection":
        start = time.perf_counter()
        fit: Any = learner(job.setting.learning_rate, job.seed).fit(db, model_of(job.every), examples=train, limit=None)
        step_2, step_3 = None, time.perf_counter() - start
    else:
        fit = estimator(job, job.setting, len(divided(job.train)[0])).fit(db, model_of(), examples=train, limit=None)
        step_2, step_3 = fit.seconds_["expanding"] + fit.seconds_["selecting"], fit.seconds_["weights"]
    start = time.perf_counter()
    ranked = Ranked.of(rank(db, fit.model_, job.test))
    seconds = time.perf_counter() - start
    weights = tuple((str(rule.formula), float(rule.weight)) for rule in fit.model_.rules)
    return Outcome(weights, step_2, step_3, seconds, ranked)


def baselines(
    folder: str, seed: int, folds: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
) -> dict[str, Ranked]:
    """Rank the candidates of all test subgraphs by what `lastfm.py` has."""
    with lastfm.connect(folder, seed) as con:
        tested = [x for _, test in folds.values() for x in test]
        tables = lastfm.window(con, tested)
        scores = lastfm.baseline_scores(con, tables)
    truth, example = (tables[lastfm.TARGET][name].to_numpy() for name in ("truth", "example"))
    return {name: Ranked.of(score_rankings(truth, score, example)) for name, score in scores.items()}


# ---- the table -----------------------------------------------------------------------------------------------


def measures(ranked: Ranked, own: Ranked | None) -> dict[str, object]:
    """Return MAP and AUC with their errors, and how much higher the MAP of resolwe is on the same subgraphs."""
    scores = ranked.scores()
    found: dict[str, object] = {
        "subgraphs": int(np.count_nonzero(scores.ranked)),
        "map": round(scores.mean_average_precision, 4),
        "map_error": round(scores.average_precision_error, 4),
        "auc": round(scores.mean_auc, 4),
        "auc_error": round(scores.auc_error, 4),
    }
    if own is not None and own != ranked:
        values = [dict(zip(x.example, x.average_precision, strict=True)) for x in (own, ranked)]
        both = [x for x in values[0] if x in values[1] and np.isfinite(values[0][x])]
        if len(both) > 1:
            less = paired_difference(*([each[x] for x in both] for each in values))
            found |= {"difference": round(less.mean, 4), "low": round(less.low, 4), "high": round(less.high, 4)}
    return found


def joined(parts: Sequence[Ranked]) -> Ranked:
    """Return the rankings of several folds as one."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]], others: Mapping[str, Ranked]) -> list[Row]:
    """Return the table: the paper's minutes, each system over all folds and in each, and the baselines."""
    runs = list(zip(jobs, results, strict=True))
    rows: list[Row] = [
        {"system": name, "whose": "paper, Delicious", "step_2_seconds": None if a is None else round(60 * a, 1), "step_3_seconds": round(60 * b, 1),
         "seconds": round(60 * c, 1)}
        for name, (a, b, c) in PAPER.items()
    ]  # fmt: skip
    own = [r.value.ranked for j, r in runs if j.system == "resolwe"]
    best = joined(own) if own else None
    for system in SYSTEMS:
        mine = [(j, r) for j, r in runs if j.system == system]
        if not mine:
            continue
        rows.append(
            {
                "system": system,
                "whose": "ours",
                "fold": "all",
                **trained([r for _, r in mine]),
                **measures(joined([r.value.ranked for _, r in mine]), best),
            }
        )
        for job, result in mine:
            assert job.setting is not None, "it was chosen"
            chosen = {
                "threshold": job.setting.threshold,
                "implications": job.setting.implication_threshold,
                "support": job.setting.min_support,
                "joint_support": job.setting.joint_support,
            }
            shown = {"rate": job.setting.learning_rate} | (chosen if system in DEFAULTS else {})
            rows.append(
                {
                    "system": system,
                    "whose": "ours",
                    "fold": job.fold,
                    **trained([result]),
                    **measures(result.value.ranked, best),
                    **shown,
                }
            )
    rows += [
        {"system": name, "whose": "baseline", "fold": "all", **measures(ranked, best)}
        for name, ranked in others.items()
    ]
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def trained(results: Sequence[Measured[Outcome]]) -> dict[str, object]:
    """Return the means over folds of formulations and of seconds, and the highest memory."""
    values = [r.value for r in results]
    second = [x.step_2 for x in values if x.step_2 is not None]
    return {
        "formulations": round(float(np.mean([len(x.weights) - 1 for x in values])), 1),
        "step_2_seconds": round(float(np.mean(second)), 1) if second else None,
        "step_3_seconds": round(float(np.mean([x.step_3 for x in values])), 1),
        "seconds": round(float(np.mean([x.step_3 + (x.step_2 or 0.0) for x in values])), 1),
        "memory_mb": round(max(r.memory_mb for r in results)),
    }


def main() -> None:
    """Run the experiment."""
    description = "Friends of the centre of an ego network on Last.fm: resolwe against the weights of all formulations."
    options = read_options(
        description,
        needs="lastfm",
        folds=FOLDS,
        choices={"system": SYSTEMS},
        numbers={"every": "take every N-th centre alone"},
    )
    folder, grammar = str(options.data / "lastfm"), SMALL if options.quick else GRAMMAR
    with lastfm.connect(folder, options.seed) as con:
        known, centres = lastfm.census(con), lastfm.centres(con)
    centres = centres[:: options.numbers["every"]]
    if options.quick:
        centres = centres[:: max(1, len(centres) // QUICK)]
    folds = make_folds(centres, options.seed)
    folds = {name: folds[name] for name in FOLDS if options.fold in (None, name)}
    if options.quick:
        folds = dict(list(folds.items())[:1])
    systems = [x for x in SYSTEMS if options.chosen.get("system", x) == x]
    jobs, choices, results = experiment(options, folder, grammar, folds, systems)
    details: list[Row] = [
        {"system": j.system, "fold": j.fold, "example": example, "average_precision": ap, "auc": auc}
        for j, r in zip(jobs, results, strict=True)
        for example, ap, auc in zip(
            r.value.ranked.example, r.value.ranked.average_precision, r.value.ranked.auc, strict=True
        )
    ]
    title = (
        f"Friends on Last.fm: {known}; {len(centres):,} of the centres; tested on fold {', '.join(folds)} of {len(FOLDS)}"
        + ("; quick: a small grammar" if options.quick else "")
    )
    parameters = {
        "grammar": grammar, "select": SELECT, "validated": VALIDATED, "thresholds": THRESHOLDS, "implications": IMPLICATIONS, "supports": SUPPORTS, "joint_supports": JOINT_SUPPORTS,
        "rates": RATES, "sweeps": SWEEPS, "window": WINDOW, "most": MOST, "every": options.numbers["every"],
        "chosen": [{"system": s, "fold": f, "map": c.score, "tried": c.tried} for (s, f), c in choices.items()],
        "weights": [{"system": j.system, "fold": j.fold, "rules": r.value.weights, "seconds_test": r.value.seconds_test} for j, r in zip(jobs, results, strict=True) if j.system in DEFAULTS],
    }  # fmt: skip
    rows = summarise(jobs, results, baselines(folder, options.seed, folds))
    publish("lastfm_friends", rows, options, title=title, parameters=parameters, details=details)


def experiment(
    options: Options,
    folder: str,
    grammar: str,
    folds: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]],
    systems: Sequence[str],
) -> tuple[list[Job], dict[tuple[str, str], Choice], list[Measured[Outcome]]]:
    """Choose settings, and train and test with them; skipSelection has the learning rate of resolwe."""
    console = options.console()
    choosing = [x for x in DEFAULTS if x in systems or (x == "resolwe" and "skipSelection" in systems)]
    asked = [
        Job(folder, options.seed, fold, system, train, test, grammar, thin=QUICK_THIN if options.quick else 1)
        for fold, (train, test) in folds.items()
        for system in choosing
    ]
    found = run_jobs(
        choose, [(job,) for job in asked], console, "choices of settings", options.processes, journal=options.journal
    )
    choices = {(job.system, job.fold): result.value for job, result in zip(asked, found, strict=True)}
    jobs = []
    for system in systems:
        for fold, (train, test) in folds.items():
            choice = choices[system if system in DEFAULTS else "resolwe", fold]
            every = () if system in DEFAULTS else choice.formulations
            jobs.append(Job(folder, options.seed, fold, system, train, test, grammar, choice.setting, every))
    results = run_jobs(run, [(job,) for job in jobs], console, "trainings", options.processes, journal=options.journal)
    return jobs, choices, results


if __name__ == "__main__":
    main()
