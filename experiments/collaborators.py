"""resolwe on subgraphs of a generated graph of the form of WikiCollabs: does it find what was planted, how fast, and what does that predict?

    python experiments/collaborators.py [--graph NAME] [--everything] [--processes N] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]

The experiment of the paper's section 4.1.1, on graphs of `collaborators_graph`, whose rules are known: "full" has the paper's size, "tenth" a
tenth of it, five times with other seeds, and "tenth-weaker" has lower chances of the planted rules. Subgraphs are those of the paper's filter, with all
their editors, cut out of the graph's files window by window and gone then; what no candidate selects by is left out, contributions to articles
that nothing relates to one of the centre's, unless `--everything` is given, which changes no count. The first ones of the stream choose among the candidates of
`collaborators_grammar` (step 2), on the full graph 1,339, the paper's training split; those after them learn weights by contrastive divergence
with a Gaussian penalty (step 3), and others, as many as the paper's test split, are predicted.

*On top* means: of all statements that the formulations make (`collaborators_grammar`), ranked by the lower bound of their probability, take as many
as are planted, leaving out those that say what a planted one says of fewer pairs: `on_top` is the share of them that is planted, 1 if no
decoy is before any planted rule, here over all and by the number n of literals of the target. `precision` and `recall` are of the statements whose
bound reaches a threshold, those left out again. Weights are learned of what reaches 0.75, that is true in three of four cases; at the default of 0.5
messages in one direction are kept, whose 22,000 groundings in a subgraph make one component of all editors of an article: learning weights took
4.9 GB by then, and was stopped. `lowest` is the lowest bound of a planted rule and `highest` the highest of another: between them any threshold
is right.

Rows "rule" tell of each planted statement on the full graph, and of the highest others. Rows "ranking" have MAP and AUC over test subgraphs of what
resolwe learned and of baselines, with their standard errors. Minutes are wall time, `cpu_2` and `cpu_3` CPU time of the whole process, and memory is that of
the whole process, which generates the graph, too. Of the paper's row only times are known.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from collaborators_grammar import (
    GRAMMAR,
    MODEL,
    SUPPORT,
    TYPES,
    Ranked,
    Tables,
    on_top,
    precision_and_recall,
    ranking,
    tables_of,
)
from collaborators_graph import FULL, Chances, Sizes, generate_graph, open_graph, write_graph
from collaborators_subgraphs import TARGET, centres
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import RankingScores, mean_and_deviation, score_rankings
from sqlrl.structure.resolwe.estimator import Counted

Floats = npt.NDArray[np.float64]

PAPER: dict[str, dict[str, float]] = {
    "resolwe": {"step_2": 94.01, "step_3": 91.15, "minutes": 185.16},
    "skipSelection": {"minutes": 3236.40},
}
"""Table 5, in minutes."""

THRESHOLDS = (0.75, 0.5)
"""Those at which precision and recall are printed; the first is resolwe's here, the second its default."""

LEARNING_RATE, REGULARIZATION = 0.001, 0.001
"""Of contrastive divergence with constant steps, as small as counts of groundings are large; a few values were tried on a small graph of another seed,
no more. Scaled steps at their default were worse on 60 subgraphs of a small graph: MAP .362 in place of .389."""

TENTH = Sizes(28_000, 700, 120_000, 1_000, 800_000, 9_000)
WEAKER = Chances(twins=0.8, teams=0.7, followers=0.6)
SEEDS = 5
SHOWN = 5
"""Statements that are not planted among the printed rules, the highest of each number of literals."""

COLUMNS = (
    "what", "name", "whose", "runs", "n", "subgraphs", "statements", "on_top", "sd_on_top", "on_top_1", "on_top_2",
    *(f"{name}_{round(100 * t)}" for t in THRESHOLDS for name in ("precision", "sd_precision", "recall", "sd_recall")),
    "planted", "probability", "bound", "support", "rank", "lowest", "highest",
    "candidates", "rules", "queries_a_window", "step_2", "cpu_2", "step_3", "cpu_3", "minutes", "memory_mb", "map", "map_error", "auc", "auc_error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One graph: how many subgraphs choose structure, learn weights and are predicted, and how many are in a window."""

    graph: str
    sizes: Sizes
    chances: Chances
    seed: int
    select: int
    learn: int
    test: int
    window: int
    learning_rate: float = LEARNING_RATE
    threshold: float = THRESHOLDS[0]
    everything: bool = False


GROUNDED = 20
"""Subgraphs in a window in which clauses are grounded, to learn weights or to predict: these take more memory than counts of labels."""

JOBS = {
    "tenth": Job("tenth", TENTH, Chances(), 0, 400, 4, 0, 50),
    "tenth-weaker": Job("tenth-weaker", TENTH, WEAKER, 0, 400, 4, 0, 50),
    "full": Job("full", FULL, Chances(), 0, 1_339, 446, 446, 40),
}
QUICK = {
    "tenth": Job("tenth", Sizes(), Chances(), 0, 60, 4, 0, 60),
    "full": Job("full", Sizes(), Chances(), 0, 60, 20, 20, 60),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a graph.

    Parameters
    ----------
    ranked : list of Ranked
        All statements, the highest bound first.
    candidates, rules, windows, queries : int
        Of step 2, with the unit clause among the rules; queries are those that counted labels.
    seconds : dict of str to float
        Wall time by stage: `graph`, `centres`, `step_2`, `step_3`, `predict`; and CPU time, `cpu_2` and `cpu_3`, since other programs may be
        at work.
    rankings : dict of str to RankingScores
        By what ranks the pairs of test subgraphs.
    """

    ranked: list[Ranked]
    candidates: int
    rules: int
    windows: int
    queries: int
    seconds: Mapping[str, float]
    rankings: Mapping[str, RankingScores] = field(default_factory=dict)


# ---- one graph -------------------------------------------------------------------------------------------------------


def run(job: Job) -> Outcome:
    """Make a graph, choose structure by its subgraphs, learn weights, and predict."""
    seconds = {"graph": -time.perf_counter()}
    with TemporaryDirectory() as folder:
        write_graph(generate_graph(job.sizes, job.chances, job.seed), Path(folder))
        seconds["graph"] += time.perf_counter()
        with open_graph(Path(folder)) as con:
            return learn(con, job, seconds)


def learn(con: duckdb.DuckDBPyConnection, job: Job, seconds: Mapping[str, float]) -> Outcome:
    """Choose structure by the subgraphs of a graph, learn weights, and predict."""
    start = time.perf_counter()
    chosen = centres(con, job.select + job.learn + job.test, seed=job.seed)
    if len(chosen) < job.select + job.learn + job.test:
        raise ValueError(f"the graph has {len(chosen):,} centres: let fewer choose, learn and be predicted than {job}")
    training, test = np.split(np.array(chosen), [job.select + job.learn])
    # A window has its subgraphs in the order of their names: those that choose are in windows of their own.
    cut = [*parts(training[: job.select], job.window), *parts(training[job.select :], GROUNDED)]
    times = _Times()
    fit = sqlrl.Resolwe(
        sqlrl.parse_grammar(GRAMMAR),
        threshold=job.threshold,
        min_support=SUPPORT,
        select=job.select,
        weights=sqlrl.baselines.ContrastiveDivergence(
            step_size="constant", learning_rate=job.learning_rate, strength=REGULARIZATION
        ),
        random_state=job.seed,
    ).fit(
        sqlrl.connect(),
        sqlrl.parse_mln(MODEL),
        examples=sqlrl.SubgraphTables(lambda: (tables_of(con, part, everything=job.everything) for part in cut)),
        callback=times,
    )
    seconds = {**seconds, "centres": times.begin - start, **times.stages()}
    start = time.perf_counter()
    scored = [
        scores(con, tables_of(con, part, everything=job.everything), fit.model_) for part in parts(test, GROUNDED)
    ]
    seconds["predict"] = time.perf_counter() - start
    return Outcome(
        ranking(fit),
        len(fit.candidates_),
        len(fit.model_.rules),
        times.windows,
        fit.n_statements_,
        seconds,
        _rankings(scored),
    )


def parts(chosen: Sequence[int] | npt.NDArray[np.int64], size: int) -> list[list[int]]:
    """Cut centres into windows."""
    return [list(map(int, chosen[i : i + size])) for i in range(0, len(chosen), size)]


class _Times:
    """Called after each window; knows when the last one that counted labels was done, in wall time and CPU time."""

    def __init__(self) -> None:
        self.begin, self.windows = time.perf_counter(), 0
        self._times = [(self.begin, time.process_time())] * 3

    def __call__(self, progress: object) -> None:
        """Note when a window is done."""
        begin, selected, _ = self._times
        now = (time.perf_counter(), time.process_time())
        if isinstance(progress, Counted):
            self.windows, selected = self.windows + 1, now
        self._times = [begin, selected, now]

    def stages(self) -> dict[str, float]:
        """Return the seconds of each step."""
        spent = {}
        for number, (before, after) in enumerate(pairwise(self._times), 2):
            spent[f"step_{number}"], spent[f"cpu_{number}"] = (y - x for x, y in zip(before, after, strict=True))
        return spent


# ---- prediction ------------------------------------------------------------------------------------------------------

BASELINES = {
    "other articles of the editor": """
        SELECT example, editor, count(*) AS score
        FROM window_collaborator JOIN contributes AS c USING (editor)
        ANTI JOIN window_project AS p ON p.example = window_collaborator.example AND p.article = c.article GROUP BY ALL
    """,
    "those that are related to the article": """
        WITH related AS (
            SELECT example, source AS article, target AS other FROM window_hyperLink
            UNION SELECT example, target, source FROM window_hyperLink
            UNION SELECT example, article, other FROM window_similar UNION SELECT example, article, other FROM window_verySimilar
        )
        SELECT example, r.article, c.editor, count(*) AS score
        FROM related AS r JOIN window_contributesOther AS c USING (example) WHERE c.article = r.other GROUP BY ALL
    """,
    "messages of the editor and the centre": """
        SELECT example, CASE WHEN writer = example THEN reader ELSE writer END AS editor, count(*) AS score
        FROM window_userTalk WHERE writer = example OR reader = example GROUP BY ALL
    """,
}
"""What pairs of an article and an editor are ranked by, from what a model sees, and all contributions to articles that are not the centre's."""


def scores(con: duckdb.DuckDBPyConnection, tables: Tables, model: sqlrl.Model) -> dict[str, Floats]:
    """Return what each system says of the pairs of a window, and `truth` and `example`, in one order."""
    asked = tables[TARGET]
    found = {
        "truth": asked["truth"].to_numpy().astype(np.float64),
        "example": asked["example"].to_numpy().astype(np.float64),
    }
    for name, table in tables.items():
        con.register(f"window_{name}", table)
    order = f"SELECT row_number() OVER () AS place, example, article, editor FROM window_{TARGET}"
    try:
        for name, query in BASELINES.items():
            keys = [x for x in ("example", "article", "editor") if x in con.sql(query).columns]
            rows = con.sql(
                f"SELECT coalesce(score, 0) AS score FROM ({order}) LEFT JOIN ({query}) USING ({', '.join(keys)}) ORDER BY place"
            )
            found[name] = rows.to_arrow_table()["score"].to_numpy().astype(np.float64)
        con.register("window_marginals", probabilities(tables, model))
        same = " AND ".join(f"p.{x} = m.{x}::TEXT" for x in ("example", "article", "editor"))
        rows = con.sql(
            f"SELECT probability FROM ({order}) AS m LEFT JOIN window_marginals AS p ON {same} ORDER BY place"
        )
        found["resolwe"] = rows.to_arrow_table()["probability"].to_numpy()
    finally:
        for name in (*tables, "marginals"):
            con.unregister(f"window_{name}")
    return found


def probabilities(tables: Tables, model: sqlrl.Model) -> pa.Table:
    """Return the probability of each pair of a window. Its labels are not even loaded."""
    with sqlrl.connect(progress=False) as db:
        for name, table in tables.items():
            columns = [x for x in table.column_names if x not in ("example", "truth")]
            facts = table.select(["example", *columns])
            rows = facts.slice(0, 0) if name == TARGET else facts
            db.load(
                name, rows, columns=columns, types=TYPES[name], example="example", empty="allow", target=name == TARGET
            )
            if name == TARGET:
                db.scope(name, facts)
        return db.probabilities(model).probabilities().select(["example", "article", "editor", "probability"])


def _rankings(scored: Sequence[Mapping[str, Floats]]) -> dict[str, RankingScores]:
    """Return how well each system ranks the pairs of all windows."""
    if not scored:
        return {}
    joined = {name: np.concatenate([x[name] for x in scored]) for name in scored[0]}
    truth, example = joined.pop("truth") > 0, joined.pop("example").astype(np.int64)
    joined["nothing"] = np.zeros(len(truth))
    return {name: score_rankings(truth, score, example) for name, score in joined.items()}


# ---- the table -------------------------------------------------------------------------------------------------------


def make_jobs(options: Options) -> list[Job]:
    """Return the jobs, those of one graph together."""
    kinds = QUICK if options.quick else JOBS
    return [
        replace(job, seed=options.seed + k, everything="everything" in options.more)
        for job in kinds.values()
        if options.chosen.get("graph", job.graph) == job.graph
        for k in range(SEEDS if job.graph != "full" and not options.quick else 1)
    ]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: what the paper has, a row for each graph, the rules of the last one, and how it predicts."""
    rows: list[Row] = [{"what": "step", "name": name, "whose": "paper", **row} for name, row in PAPER.items()]
    for name in dict.fromkeys(job.graph for job in jobs):
        mine = [(job, x) for job, x in zip(jobs, results, strict=True) if job.graph == name]
        rows.append({"what": "step", "name": f"resolwe, {name}", "whose": "ours", **_summary(mine)})
    for job, result in zip(jobs, results, strict=True):
        if job.graph == jobs[-1].graph and job.seed == jobs[-1].seed:
            rows += _rules(result.value.ranked, job.chances)
            rows += _predictions(result.value.rankings)
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def _summary(runs: Sequence[tuple[Job, Measured[Outcome]]]) -> Row:
    """Return means over the runs of one graph, their deviations, and the most memory."""
    outcomes = [x.value for _, x in runs]
    found: dict[str, object] = {
        "runs": len(runs),
        "subgraphs": runs[0][0].select,
        "statements": len(outcomes[0].ranked),
        "lowest": round(min(x.bound for each in outcomes for x in each.ranked if x.kind == "planted"), 3),
        "highest": round(max(x.bound for each in outcomes for x in each.ranked if x.kind == "other"), 3),
        "candidates": outcomes[0].candidates,
        "queries_a_window": round(outcomes[0].queries / outcomes[0].windows, 1),
        "rules": round(_mean([x.rules for x in outcomes]), 1),
        "memory_mb": round(max(x.memory_mb for _, x in runs)),
    }
    for n, name in ((None, "on_top"), (1, "on_top_1"), (2, "on_top_2")):
        found |= _spread(name, [on_top(x.ranked, n) for x in outcomes])
    for threshold in THRESHOLDS:
        for k, name in enumerate(("precision", "recall")):
            found |= _spread(
                f"{name}_{round(100 * threshold)}", [precision_and_recall(x.ranked, threshold)[k] for x in outcomes]
            )
    for name in ("step_2", "cpu_2", "step_3", "cpu_3"):
        found[name] = round(_mean([x.seconds[name] / 60 for x in outcomes]), 2)
    found["minutes"] = round(_mean([(x.seconds["step_2"] + x.seconds["step_3"]) / 60 for x in outcomes]), 2)
    return found


def _spread(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Return a mean and, of several values, their deviation."""
    found = mean_and_deviation(list(values))
    return {name: round(found.mean, 3), f"sd_{name}": round(found.deviation, 3) if len(values) > 1 else None}


def _rules(ranked: Sequence[Ranked], chances: Chances) -> list[Row]:
    """Return a row for each planted statement, and for the highest others of each number of literals, with their ranks among these."""
    mine = [x for x in ranked if x.kind != "narrower"]
    others = [x for n in (1, 2) for x in [x for x in mine if x.kind == "other" and x.n == n][:SHOWN]]
    return [
        {
            "what": "rule",
            "name": x.text,
            "whose": x.kind,
            "n": x.n,
            "planted": None if x.chance is None else getattr(chances, x.chance),
            "probability": round(x.probability, 3),
            "bound": round(x.bound, 3),
            "support": x.support,
            "rank": rank,
        }
        for rank, x in enumerate(mine, 1)
        if x.kind == "planted" or x in others
    ]


def _predictions(rankings: Mapping[str, RankingScores]) -> list[Row]:
    return [
        {
            "what": "ranking",
            "name": name,
            "subgraphs": int(np.count_nonzero(x.ranked)),
            "map": round(x.mean_average_precision, 4),
            "map_error": round(x.average_precision_error, 4),
            "auc": round(x.mean_auc, 4),
            "auc_error": round(x.auc_error, 4),
        }
        for name, x in rankings.items()
    ]


def _mean(values: Sequence[float]) -> float:
    return mean_and_deviation(list(values)).mean


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "resolwe on subgraphs of a generated graph of articles and editors with planted rules.",
        choices={"graph": tuple(JOBS)},
        more={"everything": "subgraphs with all contributions, those that nothing can select by among them"},
    )
    jobs = make_jobs(options)
    if not jobs:
        raise SystemExit(f"--quick has the graphs {', '.join(QUICK)} alone")
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "graphs", options.processes, journal=options.journal
    )
    details = [
        {"graph": job.graph, "seed": job.seed, "rank": rank, **asdict(x)}
        for job, result in zip(jobs, results, strict=True)
        for rank, x in enumerate(result.value.ranked, 1)
    ]
    parameters = {
        "jobs": [asdict(job) for job in jobs],
        "outcomes": [{"memory_mb": x.memory_mb, "rules": x.value.rules, **x.value.seconds} for x in results],
        "grammar": GRAMMAR,
        "regularization": REGULARIZATION,
    }
    title = "resolwe on a graph of articles and editors" + (
        " (quick: small graphs, few subgraphs)" if options.quick else ""
    )
    publish("collaborators", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
