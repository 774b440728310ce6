"""What a page about a run has on it: gathered by a few queries, none for a single clause or atom, and what is left out is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sqlrl.database.run_data import INFERENCE, RunData, ask, same_model, stage_table
from sqlrl.errors import InputError, SqlrlError, brief
from sqlrl.ground.clauses import atom_texts, clause_table, example_names
from sqlrl.ground.network import BoolArray, IntArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import divided
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.report import Table, charts
from sqlrl.report.charts import Chart, converter
from sqlrl.report.page import (
    AtomListing,
    ListingColumn,
    PageFacts,
    PageListing,
    PageTable,
    Part,
    Report,
    Section,
    Sentence,
    check_path,
)
from sqlrl.report.text import cell_text
from sqlrl.solve.flip_counts import flip_counts
from sqlrl.wording import counted

MOST_CLAUSES = 100_000
"""Clauses on a page, the strongest."""

MOST_ATOMS = 10_000
"""Atoms on a page, those of the examples with most wrong ones."""

MOST_EXAMPLES = 1_000
"""Examples on a page."""

MOST_SAID = 30
"""Clauses that are listed behind one atom, those that say most."""

MOST_GROUND = 5_000_000
"""Ground clauses of one shape that are made to find the clauses behind atoms."""


def report(run: RunData, path: str | Path | None = None) -> Report:
    """Return the page about a run; `RunRecord.report` explains it."""
    if path is not None:
        check_path(path)
        # That it is missing is known before the work, not after it.
        converter()
    with run.session.verb(), run.session.console.progress("writing the report"):
        found = Report(f"Run {run.number}: {run.learner}", tuple(_sections(_family(run))))
        if path is not None:
            found.save(path)
    return found


# ---- which runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Family:
    """A run, and those of the same model that its page tells of."""

    run: RunData
    learned: RunData | None  # the one that learned the model
    worlds: RunData | None  # one whose world was evaluated
    chances: RunData | None  # one whose probabilities were evaluated
    unlabelled: RunData | None  # kept and not evaluated: the run itself, or the newest one if nothing was evaluated

    @property
    def members(self) -> list[RunData]:
        """All of them, each once."""
        found = {
            each.number: each
            for each in (self.run, self.learned, self.worlds, self.chances, self.unlabelled)
            if each is not None
        }
        return list(found.values())


def _family(run: RunData) -> _Family:
    learners = same_model(run) or {run.number: run.learner}
    text = "SELECT run, count(probability) > 0 AS chances FROM outcome GROUP BY run"
    evaluated = {row["run"]: row["chances"] for row in ask(run.session.records, text).to_pylist()}
    others = {number: RunData.read(run.session, number) for number in _newest(learners, evaluated)}

    def chosen(fits: Callable[[RunData], bool]) -> RunData | None:
        if fits(run):
            return run
        return next((others[number] for number in sorted(others, reverse=True) if fits(others[number])), None)

    worlds = chosen(lambda each: evaluated.get(each.number) is False)
    chances = chosen(lambda each: evaluated.get(each.number) is True)
    unlabelled = chosen(lambda each: each.learner in _KEPT and each.number not in evaluated)
    return _Family(
        run,
        chosen(lambda each: each.learns),
        worlds,
        chances,
        unlabelled if unlabelled is run or (worlds is None and chances is None) else None,
    )


_KEPT = ("predict", "marginals")
"""What runs are called that predicted, and kept it."""


def _newest(learners: dict[int, str], evaluated: dict[int, bool]) -> list[int]:
    """Return the newest run of each kind: one that learned, one whose world was evaluated, one whose probabilities were, one that was kept and not evaluated."""
    unevaluated = {learner: "kept" if learner in _KEPT else None for learner in INFERENCE}
    kinds = {run: evaluated.get(run, unevaluated.get(learner, "learned")) for run, learner in learners.items()}
    wanted = {kind for kind in kinds.values() if kind is not None}
    return sorted(max(run for run, kind in kinds.items() if kind == each) for each in wanted)


# ---- its sections ----------------------------------------------------------------------------------------


def _sections(family: _Family) -> Iterator[Section]:
    yield Section("run", "The run", tuple(_about(family)))
    yield Section("learning", "Learning", tuple(_learning(family)))
    yield Section("clauses", "Clauses", tuple(_clauses(family)))
    yield Section("predictions", "Predictions", tuple(_predictions(family)))
    yield Section("examples", "Examples", tuple(_examples(family)))
    yield Section("audit", "Audit of the data", tuple(_audit(family)))


def _state(run: RunData) -> str:
    """Say whether the data of a run are those of the database."""
    records, same = run.session.records, "the data of the database as they are now"
    if records.same_data_of(run.number):
        return same
    try:
        # A fingerprint tells of atoms and constants, too, which follow the model that was bound last: that of the run comes first.
        with nullcontext() if run.model_number is None else _held(run):
            if records.same_data_of(run.number):
                return same
    except SqlrlError as error:
        return f"the model of the run cannot be held against the database as it is now: {brief(str(error))}"
    return "the data of the database are others now: other facts, labels, scopes or examples"


@contextmanager
def _held(run: RunData) -> Iterator[Program]:
    """Hold the model of a run against the data, while the context is open."""
    assert run.model_number is not None
    model = run.session.records.model(run.model_number)
    if isinstance(model, SoftModel):
        # A run of an earlier version took as false what no list has; an atom that it would have opened has no value in it.
        opens = model if run.parameters.get("missing") == "open" else None
        alone = bool(run.parameters.get("observed_bodies"))
        with run.session.soft_program(model, observed_bodies=alone, opens=opens) as soft:
            yield soft.program
    else:
        with run.session.program(model) as program:
            yield program


def _about(family: _Family) -> Iterator[Part]:
    run = family.run
    facts = [*run.facts()[:-1], ("data fingerprint", f"{run.fingerprint}: {_state(run)}")]
    if run.model_number is not None:
        text = "SELECT count(*) AS clauses, count(*) FILTER (WHERE hard) AS hard FROM clause WHERE model = :model"
        row = ask(run.session.records, text, model=run.model_number).to_pylist()[0]
        facts.append(
            ("model", f"{run.model_number}: {counted(row['clauses'], 'clause')}, {row['hard']:,} of them hard")
        )
    yield PageFacts(tuple(facts))
    others = [each for each in family.members if each is not run]
    if others:
        names = ("run", "learner", "status", "started", "seed", "data_fingerprint")
        rows = [(x.number, x.learner, x.status, x.started, x.seed, x.fingerprint) for x in others]
        columns = {name: pa.array([row[i] for row in rows]) for i, name in enumerate(names)}
        yield PageTable(Table(pa.table(columns), limit=len(rows)), "Other runs of the same model on this page")
    for each in family.members:
        yield PageFacts(_pairs(each.parameters), f"Parameters of run {each.number}, {each.learner}", folded=True)
    yield PageFacts(_pairs(run.versions), "Versions", folded=True)
    yield _or_sentence(lambda: charts.timings(stage_table(family.members)))


def _learning(family: _Family) -> Iterator[Part]:
    if family.learned is None:
        yield Sentence(
            "No run of this database learned the model, as far as it is known here: there is no learning curve."
        )
        return
    yield _or_sentence(family.learned.plot.learning_curve)
    if "record_history" in family.learned.parameters:
        yield _or_sentence(family.learned.plot.weight_history)


def _predictions(family: _Family) -> Iterator[Part]:
    if family.worlds is None and family.chances is None:
        yield Sentence(
            "No prediction of the model was kept and evaluated: predict(keep=True) or probabilities(keep=True), then evaluate(), fill what belongs here."
        )
        return
    for each in (family.worlds, family.chances):
        if each is not None:
            text = """
                SELECT predicate, true_positives, false_positives, false_negatives, true_negatives, precision, recall, f1
                FROM confusion WHERE run = :run AND constant IS NULL ORDER BY predicate ASC NULLS LAST
            """
            found = Table(ask(each.session.records, text, run=each.number))
            yield PageTable(found, f"Run {each.number}, {each.learner}: atoms predicted rightly and wrongly")
    shown = family.worlds or family.chances
    assert shown is not None
    for predicate in shown.plot.predicates():
        chart = shown.plot.confusion(predicate)
        yield replace(chart, title=f"{chart.title}, run {shown.number}")
    scored = family.chances
    if scored is None:
        found_ = shown.plot.outcomes()
        scored = shown if found_ is not None and found_.score is not None else None
    if scored is None:
        yield Sentence(
            "Calibration, precision and recall at thresholds, and the ROC curve need probabilities: probabilities(keep=True), then evaluate()."
        )
        return
    for draw in (scored.plot.calibration, scored.plot.precision_recall, scored.plot.roc):
        part = _or_sentence(draw)
        yield replace(part, title=f"{part.title}, run {scored.number}") if isinstance(part, Chart) else part


def _or_sentence(draw: Callable[[], Chart]) -> Part:
    """Return a chart, or in its place why there is none."""
    try:
        return draw()
    except InputError as error:
        text = str(error)
        return Sentence(f"{text[:1].upper()}{text[1:]}.")


def _pairs(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in sorted(values.items())
    )


def _audit(family: _Family) -> Iterator[Part]:
    records = family.run.session.records
    audits = ask(
        records,
        """
        SELECT a.run, a.target, count(*) AS atoms, any_value(r.fingerprint) AS fingerprint
        FROM audit_atom AS a JOIN run AS r USING (run) GROUP BY a.run, a.target ORDER BY a.run ASC NULLS LAST
        """,
    ).to_pylist()
    if not audits:
        yield Sentence("The data were not audited for leaks: db.audit(target), or `sqlrl audit`, does.")
        return
    for each in audits:
        findings = ask(
            records,
            """
            SELECT kind, predicate, what, count, share, severity, show_sql FROM leak WHERE run = :run
            ORDER BY severity DESC NULLS LAST, kind ASC NULLS LAST, predicate ASC NULLS LAST, what ASC NULLS LAST
            """,
            run=each["run"],
        )
        head = f"Run {each['run']} audited {each['target']}, {counted(each['atoms'], 'query atom')}"
        if each["fingerprint"] != family.run.fingerprint:
            head += ", when the data, or their query atoms, were others than those of this run"
        yield Sentence(f"{head}: {counted(len(findings), 'finding') if len(findings) else 'it found no leak'}.")
        if len(findings):
            yield PageTable(Table(findings, limit=len(findings)), f"What was found about {each['target']}")
        text = "SELECT baseline, type, atoms, majority, accuracy, auc FROM audit_baseline WHERE run = :run ORDER BY ALL"
        baselines = ask(records, text, run=each["run"])
        if len(baselines):
            yield PageTable(
                Table(baselines, limit=len(baselines)), "How well identity alone predicts, without any fact"
            )


# ---- its clauses -------------------------------------------------------------------------------------------

_COLUMNS = (
    ListingColumn("clause", "clause", "text", "as the model has it", narrow=True),
    ListingColumn("weight", "weight", "number", "log-odds; empty if hard", narrow=True),
    ListingColumn(
        "support",
        "support",
        "number",
        "groundings that the evidence leaves open; of a soft rule those that some truth values would violate",
        narrow=True,
    ),
    ListingColumn("true_share", "true", "number", "share of all its groundings that hold in the labels"),
    ListingColumn("positives", "positives", "number", "true atoms that it covers"),
    ListingColumn("negatives", "negatives", "number", "false atoms that it covers"),
    ListingColumn("selected", "selected", "number", "tuples of labelled atoms that its evidence selects"),
    ListingColumn("probability", "probability", "number", "share of these that agree with it"),
    ListingColumn("for_right", "for right", "number", "atoms predicted rightly for whose value it speaks"),
    ListingColumn("for_wrong", "for wrong", "number", "atoms predicted wrongly for whose predicted value it speaks"),
    ListingColumn("against_right", "against right", "number", "atoms predicted rightly against whose value it speaks"),
    ListingColumn(
        "against_wrong", "against wrong", "number", "atoms predicted wrongly against whose predicted value it speaks"
    ),
    ListingColumn("step", "step", "number", "step of the learner that added it"),
)


def _clauses(family: _Family) -> Iterator[Part]:
    run = family.run
    if run.model_number is None:
        yield Sentence(f"Run {run.number} ({run.learner}) has no model, and so no clauses.")
        return
    data = _clause_rows(family, run.model_number)
    if not len(data):
        yield Sentence("The model has no clauses.")
        return
    yield _or_sentence(run.plot.weights)
    every = (
        ask(run.session.records, "SELECT count(*) AS n FROM clause WHERE model = :model", model=run.model_number)
        .column(0)[0]
        .as_py()
    )
    if every > len(data):
        yield Sentence(
            f"The table has the {len(data):,} strongest of {every:,} clauses; the table sqlrl.clause of the database has all."
        )
    columns = tuple(each for each in _COLUMNS if data.column(each.key).null_count < len(data))
    sort = "weight" if any(each.key == "weight" for each in columns) else columns[0].key
    yield PageListing(columns, data, "clauses", sort)


def _clause_rows(family: _Family, model: int) -> pa.Table:
    """Return the clauses with what the runs of a family know of them; those of another model number are found by their keys."""
    run, records = family.run, family.run.session.records
    counted_by = next(
        (each for each in (run, family.learned, family.worlds) if each is not None and _has_statistics(each)), run
    )
    text = """
        WITH counts AS (
            SELECT k.clause, k.key, s.open, s.groundings, s.n_observed
            FROM clause_statistics AS s JOIN run AS r USING (run) JOIN clause AS k ON k.model = r.model AND k.clause = s.clause
            WHERE s.run = :counted
            QUALIFY r.model = :model OR (k.key IS NOT NULL AND count(*) OVER (PARTITION BY k.key) = 1)
        ), says AS (
            SELECT k.clause, k.key, p.for_right, p.for_wrong, p.against_right, p.against_wrong
            FROM support AS p JOIN run AS r USING (run) JOIN clause AS k ON k.model = r.model AND k.clause = p.clause
            WHERE p.run = :evaluated
            QUALIFY r.model = :model OR (k.key IS NOT NULL AND count(*) OVER (PARTITION BY k.key) = 1)
        ), covers AS (
            SELECT clause AS text, max(positives) AS positives, max(negatives) AS negatives FROM candidate WHERE run = :run GROUP BY clause
        ), formed AS (
            SELECT formula AS text, max(support) AS selected, max(probability) AS probability FROM formulation WHERE run = :run AND kept GROUP BY formula
        )
        SELECT c.text AS clause, c.weight, coalesce(CAST(n.open AS DECIMAL(38, 0)), CAST(d.ground_rules AS DECIMAL(38, 0))) AS support,
            CAST(n.n_observed AS DOUBLE) / nullif(CAST(n.groundings AS DOUBLE), 0) AS true_share,
            v.positives, v.negatives, f.selected, f.probability, p.for_right, p.for_wrong, p.against_right, p.against_wrong, c.step
        FROM clause AS c
            LEFT JOIN counts AS n ON n.COUNTED = c.COUNTED
            LEFT JOIN says AS p ON p.EVALUATED = c.EVALUATED
            LEFT JOIN rule_distance AS d ON d.run = :run AND d.clause = c.clause
            LEFT JOIN covers AS v ON v.text = c.text
            LEFT JOIN formed AS f ON f.text = c.text
        WHERE c.model = :model
        ORDER BY abs(c.weight) DESC NULLS LAST, c.clause ASC NULLS LAST
        LIMIT :most
    """
    evaluated = family.worlds or run
    # A condition that looked at the models would be no join by equal values, and take the square of the clauses.
    for name, each in (("COUNTED", counted_by), ("EVALUATED", evaluated)):
        text = text.replace(name, "clause" if each.model_number == model else "key")
    return ask(
        records,
        text,
        model=model,
        run=run.number,
        counted=counted_by.number,
        evaluated=evaluated.number,
        most=MOST_CLAUSES,
    )


def _has_statistics(run: RunData) -> bool:
    text = "SELECT count(open) AS n FROM clause_statistics WHERE run = :run"
    return bool(ask(run.session.records, text, run=run.number).column(0)[0].as_py())


# ---- its examples ------------------------------------------------------------------------------------------

_EXAMPLE_COLUMNS = (
    ListingColumn("example", "example", "text", "its name", narrow=True),
    ListingColumn("wrong", "wrong", "number", "labelled atoms predicted wrongly", narrow=True),
    ListingColumn("atoms", "atoms", "number", "labelled atoms", narrow=True),
)
_ATOM_COLUMNS = (
    ListingColumn("atom", "atom", "text", "with its constants", narrow=True),
    ListingColumn("outcome", "outcome", "text", "whether it was predicted as it is labelled", narrow=True),
    ListingColumn("predicted", "predicted", "bool", "predicted truth", narrow=True),
    ListingColumn("label", "label", "bool", "true label", narrow=True),
    ListingColumn("probability", "probability", "number", "that it is true"),
    ListingColumn("value", "value", "number", "truth value of a soft model"),
    ListingColumn(
        "log_odds", "log-odds", "number", "what clauses say for the predicted truth, all other atoms being as predicted"
    ),
)


def _examples(family: _Family) -> Iterator[Part]:
    if family.unlabelled is not None:
        yield from _unlabelled(family.unlabelled)
        return
    run = family.worlds or family.chances
    if run is None:
        yield Sentence(
            "There are no predictions to show: none was kept, which predict(keep=True) and probabilities(keep=True) do."
        )
        return
    records = run.session.records
    text = """
        SELECT example, any_value(example_name) AS name, count(*) AS atoms, count(*) FILTER (WHERE label <> predicted) AS wrong,
            count(*) FILTER (WHERE label OR predicted) AS notable, count(*) FILTER (WHERE atom IS NULL) AS outside
        FROM outcome WHERE run = :run GROUP BY example ORDER BY wrong DESC NULLS LAST, example ASC NULLS LAST
    """
    examples = ask(records, text, run=run.number)
    every = sum(examples.column("atoms").to_pylist())
    whole = every <= MOST_ATOMS
    size = examples.column("atoms" if whole else "notable").to_numpy()
    before = np.cumsum(size) - size
    kept = examples.slice(0, int((before[:MOST_EXAMPLES] < MOST_ATOMS).sum()))
    atoms = _atom_rows(family, run, len(kept), whole=whole)
    yield Sentence(
        f"Atoms of run {run.number} ({run.learner}), beside the labels that the evaluation compared them with. Choose an atom to see the clauses behind it."
    )
    if len(kept) < len(examples):
        yield Sentence(f"Shown are the {len(kept):,} of {len(examples):,} examples with most atoms predicted wrongly.")
    if not whole:
        yield Sentence(
            f"Of {every:,} labelled atoms {len(atoms):,} are shown: atoms that are rightly predicted false are left out, and what is more than {MOST_ATOMS:,}; "
            "the table sqlrl.outcome has all."
        )
    outside = sum(examples.column("outside").to_pylist())
    if outside:
        yield Sentence(f"{counted(outside, 'true label')} outside the scope count as missed and have no atom to show.")
    listed = pa.table({"example": kept.column("name"), "wrong": kept.column("wrong"), "atoms": kept.column("atoms")})
    columns = tuple(each for each in _ATOM_COLUMNS if atoms.column(each.key).null_count < max(len(atoms), 1))
    said = _behind(run, atoms, kept.column("example").to_numpy().astype(np.int64))
    yield AtomListing(
        examples=PageListing(_EXAMPLE_COLUMNS, listed, "examples", "wrong"),
        atoms=PageListing(columns, atoms, "atoms", "outcome"),
        clauses=said.clauses,
        start=said.start,
        said=said.said,
        notes=pa.concat_tables([said.notes, _kept_reasons(run, atoms)]),
        missing=said.missing,
    )


_UNLABELLED_EXAMPLES = (
    ListingColumn("example", "example", "text", "its name", narrow=True),
    ListingColumn("true", "true", "number", "atoms predicted true", narrow=True),
    ListingColumn("atoms", "atoms", "number", "query atoms that were kept", narrow=True),
)

_KEPT_ATOMS = """
    SELECT atom, example, truth AS predicted, CAST(NULL AS DOUBLE) AS probability, CAST(NULL AS DOUBLE) AS value FROM prediction WHERE run = :run
    UNION ALL SELECT atom, example, probability > 0.5, probability, CAST(NULL AS DOUBLE) FROM marginal WHERE run = :run
    UNION ALL SELECT atom, example, value >= 0.5, CAST(NULL AS DOUBLE), value FROM truth_value WHERE run = :run
"""


def _unlabelled(run: RunData) -> Iterator[Part]:
    """Yield the atoms of a run that was kept and not evaluated: what was predicted of them, and nothing of labels."""
    yield Sentence(
        f"Run {run.number} ({run.learner}) was not evaluated: its atoms stand here without labels. Choose one to see the clauses behind it."
    )
    text = """
        WITH kept AS (KEPT)
        SELECT example, count(*) AS atoms, count(*) FILTER (WHERE predicted) AS "true" FROM kept GROUP BY example ORDER BY example ASC NULLS LAST
    """
    examples = ask(run.session.records, text.replace("KEPT", _KEPT_ATOMS), run=run.number)
    if not len(examples):
        yield Sentence("It predicted no atom true, and others are not kept.")
        return
    every = sum(examples.column("atoms").to_pylist())
    whole = every <= MOST_ATOMS
    size = examples.column("atoms" if whole else "true").to_numpy()
    before = np.cumsum(size) - size
    kept = examples.slice(0, int((before[:MOST_EXAMPLES] < MOST_ATOMS).sum()))
    text = """
        WITH kept AS (KEPT), ranked AS (
            SELECT example, row_number() OVER (ORDER BY example ASC NULLS LAST) - 1 AS rank FROM kept GROUP BY example
        )
        SELECT k.atom AS id, k.predicted, k.probability, k.value, r.rank AS of
        FROM kept AS k JOIN ranked AS r ON r.example = k.example
        WHERE r.rank < :examples AND (:whole = 1 OR k.predicted)
        ORDER BY r.rank ASC NULLS LAST, coalesce(k.probability, k.value) DESC NULLS LAST, k.atom ASC NULLS LAST
        LIMIT :most
    """
    text, shown = text.replace("KEPT", _KEPT_ATOMS), {"examples": len(kept), "most": MOST_ATOMS}
    atoms = ask(run.session.records, text, run=run.number, whole=int(whole), **shown)
    ids, numbers = (
        table.column(name).to_numpy().astype(np.int64) for table, name in ((atoms, "id"), (kept, "example"))
    )
    names = _names(run, ids, numbers)
    if isinstance(names, str):
        yield Sentence(names)
        return
    if len(kept) < len(examples):
        yield Sentence(f"Shown are the first {len(kept):,} of {len(examples):,} examples.")
    if len(atoms) < every:
        yield Sentence(
            f"Of {every:,} atoms {len(atoms):,} are shown, those predicted true of the first examples; the database has all."
        )
    elif run.learner == "predict" and not atoms.column("value").null_count < len(atoms):
        yield Sentence("Atoms that were predicted false are not kept.")
    atoms = atoms.append_column("atom", pa.array([names.atoms[k] for k in ids.tolist()], pa.string()))
    listed = pa.table(
        {
            "example": pa.array([names.examples[k] for k in numbers.tolist()], pa.string()),
            "true": kept.column("true"),
            "atoms": kept.column("atoms"),
        }
    )
    columns = tuple(
        each
        for each in _ATOM_COLUMNS
        if each.key in atoms.column_names and atoms.column(each.key).null_count < max(len(atoms), 1)
    )
    said = _behind(run, atoms, numbers)
    sort = next((key for key in ("probability", "value") if any(key == each.key for each in columns)), "atom")
    yield AtomListing(
        examples=PageListing(_UNLABELLED_EXAMPLES, listed, "examples", "example", descending=False),
        atoms=PageListing(columns, atoms, "atoms", sort, descending=sort != "atom"),
        clauses=said.clauses,
        start=said.start,
        said=said.said,
        notes=pa.concat_tables([said.notes, _kept_reasons(run, atoms)]),
        missing=said.missing,
    )


@dataclass(frozen=True)
class _Names:
    """Names of atoms and of examples, by their ids."""

    atoms: dict[int, str]
    examples: dict[int, str]


def _names(run: RunData, atoms: IntArray, examples: IntArray) -> _Names | str:
    """Name what a run predicted, or say why it has no names: they are those of the data, which may be others now."""
    session = run.session
    try:
        with _held(run) as program:
            if not session.records.same_data_of(run.number):
                return f"The data, or which predicates are open, have changed since run {run.number}: its atoms cannot be named any more."
            return _Names(atom_texts(program, atoms), example_names(program.engine, program.layout, examples))
    except SqlrlError as error:
        return f"The atoms of run {run.number} cannot be named: {brief(str(error))}"


def _atom_rows(family: _Family, run: RunData, examples: int, *, whole: bool) -> pa.Table:
    """Return the labelled atoms of the first examples, in their order, with probabilities of the run or another of the family."""
    text = """
        WITH ranked AS (
            SELECT example, row_number() OVER (ORDER BY count(*) FILTER (WHERE label <> predicted) DESC NULLS LAST, example ASC NULLS LAST) - 1 AS rank
            FROM outcome WHERE run = :run GROUP BY example
        ), chosen AS (
            SELECT o.predicate, o.atom, o.name, o.label, o.predicted, o.probability, o.log_odds, r.rank
            FROM outcome AS o JOIN ranked AS r ON r.example = o.example
            WHERE o.run = :run AND o.atom IS NOT NULL AND r.rank < :examples AND (:whole = 1 OR o.label OR o.predicted)
        )
        SELECT c.atom AS id, c.name AS atom, CASE WHEN c.label = c.predicted THEN 'right' ELSE 'wrong' END AS outcome, c.predicted, c.label,
            coalesce(c.probability, q.probability) AS probability, t.value, c.log_odds, c.rank AS of
        FROM chosen AS c
            LEFT JOIN outcome AS q ON q.run = :chances AND q.predicate = c.predicate AND q.atom = c.atom AND q.name = c.name
            LEFT JOIN truth_value AS t ON t.run = :run AND t.predicate = c.predicate AND t.atom = c.atom
        ORDER BY c.rank ASC NULLS LAST, c.label <> c.predicted DESC NULLS LAST,
            abs(CASE WHEN c.label THEN 1 ELSE 0 END - coalesce(c.probability, q.probability)) DESC NULLS LAST, c.log_odds DESC NULLS LAST, c.atom ASC NULLS LAST
        LIMIT :most
    """
    chances = run.number if family.chances is None else family.chances.number
    found = ask(
        run.session.records, text, run=run.number, chances=chances, whole=int(whole), examples=examples, most=MOST_ATOMS
    )
    if examples < 2:
        return found
    wrong = np.array([outcome == "wrong" for outcome in found.column("outcome").to_pylist()], dtype=bool)
    # Within several examples the wrong ones come first, each kind by its ids; the query has kept the worst where there are too many.
    return found.take(pa.array(np.lexsort((found.column("id").to_numpy(), ~wrong, found.column("of").to_numpy()))))


# ---- the clauses behind atoms ------------------------------------------------------------------------------

_SAID = pa.schema([("clause", pa.int64()), ("change", pa.int64()), ("worth", pa.float64())])
_CLAUSES = pa.schema([("text", pa.string()), ("weight", pa.float64())])
_NOTES = pa.schema([("atom", pa.int64()), ("text", pa.string())])


@dataclass(frozen=True, eq=False)
class _Behind:
    """What clauses say about atoms, as `AtomListing` has it."""

    clauses: pa.Table
    start: list[int]
    said: pa.Table
    notes: pa.Table
    missing: str = ""

    @classmethod
    def nothing(cls, atoms: int, why: str) -> _Behind:
        return cls(_CLAUSES.empty_table(), [0] * (atoms + 1), _SAID.empty_table(), _NOTES.empty_table(), why)


def _behind(run: RunData, atoms: pa.Table, examples: IntArray) -> _Behind:
    """Ground the examples of some atoms once more, and find what clauses say about each; or say why that cannot be done."""
    session, size = run.session, len(atoms)
    assert run.model_number is not None
    model = session.records.model(run.model_number)
    if not isinstance(model, Model):
        return _Behind.nothing(
            size, "The rules behind an atom of a soft model are hinges, which prediction.why(atom) shows."
        )
    try:
        with session.program(model) as program, program.examples_table(examples) as chosen:
            if not session.records.same_data_of(run.number):
                why = f"The data, or which predicates are open, have changed since run {run.number}: the clauses behind atoms cannot be found again."
                return _Behind.nothing(size, why)
            if any(info.hidden for info in program.layout.predicates.values()):
                return _Behind.nothing(
                    size,
                    "The run inferred hidden predicates, whose atoms are not kept: prediction.why(atom) shows the clauses.",
                )
            program.expand(chosen)
            return _said_of(
                program, Extent(program, chosen, MOST_GROUND), _true_atoms(run), atoms.column("id").to_numpy(), examples
            )
    except SqlrlError as error:
        return _Behind.nothing(size, f"The clauses behind atoms cannot be shown: {brief(str(error))}")


def _true_atoms(run: RunData) -> IntArray:
    """Return the ids of the atoms that a run predicted true, or found more probable than not."""
    text = """
        SELECT atom FROM prediction WHERE run = :run AND truth
        UNION ALL SELECT atom FROM marginal WHERE run = :run AND probability > 0.5
    """
    return np.sort(ask(run.session.records, text, run=run.number).column(0).to_numpy().astype(np.int64))


def _said_of(program: Program, extent: Extent, true: IntArray, atoms: IntArray, examples: IntArray) -> _Behind:
    """Return what the clauses of a program say about atoms, given by their ids, in the world in which some atoms are true."""
    order = np.argsort(atoms, kind="stable")
    weights, hard = program.weights(), program.hard()
    rows, clauses, changes, notes = [], [], [], list[tuple[int, str]]()
    for _, network in divided(extent, np.sort(examples)):
        world = np.isin(network.atoms, true)
        place = np.searchsorted(atoms[order], network.atoms)
        place = np.minimum(place, len(atoms) - 1)
        mine = np.flatnonzero(atoms[order][place] == network.atoms)
        said = flip_counts(network, world)
        change = said.change[mine].tocoo()
        row, clause = order[place[mine[change.row]]], network.clauses[change.col]
        # Of a formula with helper atoms it is not known what the atom alone changes.
        known = ~said.helped[change.col]
        rows.append(row[known])
        clauses.append(clause[known])
        changes.append(change.data[known])
        notes += [(int(order[place[k]]), _UNSURE) for k in mine[said.unsure[mine]].tolist()]
        notes += _of_blocks(program, network, world, mine, order[place[mine]])
        del network  # or else it would be there while the next is grounded
    row, clause, change_ = (np.concatenate([np.zeros(0, np.int64), *part]) for part in (rows, clauses, changes))
    listed = clause_table(program)
    texts = dict(zip(listed.column("clause").to_pylist(), listed.column("text").to_pylist(), strict=True))
    shown = np.isin(clause, listed.column("clause").to_numpy()) & (hard[clause] | (weights[clause] != 0))
    row, clause, change_ = row[shown], clause[shown], change_[shown]
    worth = np.where(hard[clause], np.inf, weights[clause] * change_)
    sorted_ = np.lexsort((clause, -np.abs(worth), row))
    row, clause, change_, worth = row[sorted_], clause[sorted_], change_[sorted_], worth[sorted_]
    first = np.searchsorted(row, np.arange(len(atoms) + 1))
    rank = np.arange(len(row)) - first[row]
    more = np.maximum(np.diff(first) - MOST_SAID, 0)
    notes += [(int(k), f"{counted(int(more[k]), 'clause')} that say less are left out.") for k in np.flatnonzero(more)]
    kept = rank < MOST_SAID
    row, clause, change_, worth = row[kept], clause[kept], change_[kept], worth[kept]
    used, local = np.unique(clause, return_inverse=True)
    return _Behind(
        pa.table(
            {
                "text": pa.array([texts[k] for k in used.tolist()], pa.string()),
                "weight": pa.array(weights[used], mask=hard[used]),
            }
        ),
        np.searchsorted(row, np.arange(len(atoms) + 1)).tolist(),
        pa.table({"clause": local.reshape(-1), "change": change_, "worth": pa.array(worth, mask=np.isinf(worth))}),
        _note_table(notes),
    )


_UNSURE = "Formulas with quantifiers over several predicted atoms have a say, too, which is not listed: prediction.why(atom) shows them."


def _of_blocks(
    program: Program, network: Network, world: BoolArray, mine: IntArray, rows: IntArray
) -> list[tuple[int, str]]:
    """Return sentences about atoms that their block alone keeps as they are; `mine` are local atoms, `rows` their rows on the page."""
    blocks = len(network.block_exact)
    holds = np.full(blocks, -1, np.int64)
    inside = np.flatnonzero((network.block >= 0) & world)
    holds[network.block[inside]] = inside
    block = network.block[mine]
    barred = (block >= 0) & ~world[mine] & (holds[np.maximum(block, 0)] >= 0) if blocks else np.zeros(len(mine), bool)
    needed = (
        (block >= 0) & world[mine] & network.block_exact[np.maximum(block, 0)] if blocks else np.zeros(len(mine), bool)
    )
    others = holds[block[barred]]
    texts = atom_texts(program, network.atoms[others]) if len(others) else {}
    found = [
        (row, f"At most one atom of its block is true, and {texts[int(network.atoms[other])]} is.")
        for row, other in zip(rows[barred].tolist(), others.tolist(), strict=True)
    ]
    return found + [(row, "Exactly one atom of its block must be true.") for row in rows[needed].tolist()]


def _kept_reasons(run: RunData, atoms: pa.Table) -> pa.Table:
    """Return what `Prediction.why` kept of atoms: ground clauses with their constants, and margins."""
    text = """
        SELECT e.atom, e.margin, r.side, r.ground_clause, r.contribution
        FROM explained AS e LEFT JOIN reason AS r USING (run, atom) WHERE e.run = :run
        ORDER BY e.atom ASC NULLS LAST, abs(r.contribution) DESC NULLS LAST, r.ground_clause ASC NULLS LAST
    """
    place = {atom: row for row, atom in enumerate(atoms.column("id").to_pylist())}
    notes: dict[int, list[str]] = {}
    for row in ask(run.session.records, text, run=run.number).to_pylist():
        if row["atom"] in place:
            lines = notes.setdefault(
                place[row["atom"]],
                [f"The best world's score falls by {cell_text(row['margin'])} if it must have the other value."],
            )
            if row["side"] is not None and len(lines) <= MOST_SAID:
                lines.append(f"{row['side']} ({cell_text(row['contribution'])}): {row['ground_clause']}")
    return _note_table([(row, line) for row, lines in notes.items() for line in lines])


def _note_table(notes: list[tuple[int, str]]) -> pa.Table:
    return pa.table(
        {
            "atom": pa.array([row for row, _ in notes], pa.int64()),
            "text": pa.array([line for _, line in notes], pa.string()),
        }
    )
