"""The audit of a target and its folds: what training sees of what is tested, and what labels are told by something else than the facts."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.examples import example_source
from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.views import rename_views, shown_arguments
from sqlrl.database.folds import Folds, folded_atoms, kept_folds, read_folds
from sqlrl.database.holdout import bound_by_data, check_seed
from sqlrl.engine.nodes import column, union_all
from sqlrl.errors import InputError, Message, Parameter
from sqlrl.evaluate.identity import Baseline, identity_baselines
from sqlrl.logic.model import Model
from sqlrl.markup import visible
from sqlrl.plan.duplicates import Units, candidate_count, duplicated_places, equal_units, similar_units, unit_count
from sqlrl.plan.label_copies import Claim, agreeing_atoms, agreements, claims, notable, told_atoms
from sqlrl.plan.leaks import (
    AuditedTarget,
    FactView,
    count_sides,
    counted_rows,
    entities_of_tests,
    examples_of_constants,
    facts_of_all,
    labelled_atoms,
    naming_facts,
    reverse_labels,
    reversed_atoms,
    shared_entities,
    values_of,
)
from sqlrl.progress import Stage, staged
from sqlrl.report import Table
from sqlrl.training.runs import Run
from sqlrl.training.session import Session, check_model, verb
from sqlrl.wording import counted, did_you_mean, nearest_names

KEPT = ("leak", "audit_atom", "audit_fold", "audit_baseline")
"""The tables of an audit; those of an earlier audit of the target are emptied of it."""

SIGMAS = 3.0
"""Standard deviations by which something must be right more often than the more frequent truth value."""

COPY = 99
"""The agreement with labels in percent above which a predicate is a copy of them."""

COPY_ERRORS = 10
"""Labels of the rarer kind for each error that a copy may have: of rare links, nearly all agree with a predicate that holds of none."""

SURELY = 3
"""The logarithm of the odds against a copy by chance: few labels agree with one of many predicates."""

TOLD = 10
"""The fewest atoms that a predicate must speak of to be said to tell their labels."""

BALANCED = 0.9
"""The largest share of a label among all of which it is worth telling."""

RANKED = 0.75
"""The area under the curve from which on identity is said to rank atoms, where the more frequent label is hard to beat."""

FEW, OFTEN = 1.5, 0.1
"""Constants of a local type that stand in more examples than these, on average, or than this share of all, are places in examples, and no entities."""

TOGETHER = 100
"""Readings of predicates that are counted by one statement."""

MANY = 10
"""Times as many things as values: then what is one value of each is a class of it."""

MOST_PAIRS = 50_000_000
"""Of facts that are joined in the search for near duplicates."""

_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("predicate", pa.string()),
        ("what", pa.string()),
        ("count", pa.int64()),
        ("share", pa.float64()),
        ("severity", pa.float64()),
        ("show_sql", pa.string()),
    ]
)
_BASELINES = pa.schema(
    [
        ("baseline", pa.string()),
        ("type", pa.string()),
        ("atoms", pa.int64()),
        ("majority", pa.float64()),
        ("accuracy", pa.float64()),
        ("auc", pa.float64()),
    ]
)
_ORDER = (
    "label copy", "antisymmetry", "symmetry", "identity", "opposite reverse", "equal reverse", "facts", "duplicate", "near duplicate",
)  # fmt: skip
"""Of findings that are equally severe."""

_VARIABLES = "xyzuvw"
_SAYS, _DENIES, _TELLS = "says", "denies", "tells"
"""What a reading of a predicate does to the label, the worst first."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Parameters
    ----------
    target : str
    folds : str
        What was audited, in words.
    findings : Table
        A row for each finding, what gives away most first: `kind`, `predicate`, `what` (a sentence), `count`, `share`, `severity` (how much of
        the test it gives away, from 0 to 1) and `show_sql`, a query with `count` rows that `Database.sql` runs.
    baselines : Table
        How well labels are predicted by which constants an atom has, and nothing else: `baseline`, `type`, `atoms`, `majority` (the share that
        the more frequent truth value gets right), `accuracy`, `auc`.
    notes : tuple of str
        What was not looked for, and why.
    run : int
        The number of the run in `sqlrl.run`; the view `sqlrl.leaks` has the findings of the newest audit of each target.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> names = ["Anna", "Bob", "Cid", "Dora"]
    >>> likes = [(a, b) for a in names for b in names if a[0] + b[0] in {"AB", "AD", "BC", "CA", "DB", "DC"}]
    >>> db.load("Likes", likes, types=["person", "person"], target=True)
    >>> db.load("LikedBy", [(b, a) for a, b in likes], types=["person", "person"])
    >>> found = db.audit("Likes", folds=2)
    >>> found.folds, found.findings["kind"][0], found.findings["what"][0]
    ('2 random folds of query atoms', 'label copy', 'LikedBy(y, x) says what Likes(x, y) says: all 16 labelled atoms agree')
    """

    target: str
    folds: str
    findings: Table
    baselines: Table
    notes: tuple[str, ...] = ()
    run: int = 0

    def __str__(self) -> str:
        """Return the findings with the queries that show them, and the baselines."""
        rows = self.findings.to_pylist()
        found = counted(len(rows), "finding") if rows else "no leak was found"
        lines = [f"{visible(self.target)}, {self.folds}: {found}"]
        for number, row in enumerate(rows, 1):
            lines += [f"{number}. {row['kind']}: {visible(row['what'])}", f"   {visible(row['show_sql'])}"]
        if len(self.baselines):
            lines += ["labels predicted by identity alone:", self.baselines.to_text()]
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *_ = str(self).split("\n", maxsplit=1)
        shown = [self.findings, *([self.baselines] if len(self.baselines) else [])]
        tables = "".join(each._repr_html_() for each in shown)
        return markup.paragraph(head) + tables + "".join(map(markup.paragraph, self.notes))


@dataclass(frozen=True)
class _Finding:
    """A finding; `count` is 0 where the rows of its query are not counted yet."""

    kind: str
    predicate: str
    what: str
    query: exp.Select
    share: float
    severity: float
    count: int = 0


@verb
def audit(
    session: Session,
    target: str,
    *,
    folds: Any,
    train: Any,
    test: Any,
    near: float,
    model: Model | None,
    random_state: int,
) -> Audit:
    """Do what `Database.audit` does."""
    percent = _percent(near)
    check_seed(random_state)
    if model is not None:
        check_model(model)
    session.catalog.store.check_writable()
    with session.console.progress(f"auditing {target}"):
        _check_target(session, target)
        if model is not None:
            session.catalog.declare(model)
        layout = bound_by_data(session, target)
        # A file may have been brought to its layout by a version that left its views.
        with session.catalog.store.writing():
            rename_views(session.catalog.store)
        info = layout.predicates[target]
        chosen = read_folds(session, layout, info, folds, train, test, int(random_state))
        run, clock = Run(session.records), time.perf_counter()
        parameters = {"target": target, "folds": str(chosen), "near": near}
        with run.ending():
            number = run.begin("audit", parameters, int(random_state))
            with session.records.together():
                found = _Auditing(session, layout, info, chosen, number, percent).result()
                seconds = {"audit": time.perf_counter() - clock}
                session.records.end_run(number, "done", timings=seconds)
    return found


def _percent(near: object) -> int:
    """Return a similarity as a whole percentage, in which it is compared exactly."""
    number = isinstance(near, int | float | np.integer | np.floating) and not isinstance(near, bool)
    if not number or not 0.5 <= float(near) <= 1:  # type: ignore[arg-type]
        raise InputError(
            f"{Parameter('near', near)} must be a Jaccard similarity from 0.5 to 1, such as 0.8: half of the facts in common is not near."
        )
    return round(100 * float(near))  # type: ignore[arg-type]


def _check_target(session: Session, target: Any) -> None:
    """Refuse what is no target with labels."""
    records = session.catalog.predicates()
    if not isinstance(target, str) or target not in records:
        known = sorted({name for name, role in session.catalog.store.sources() if role == "label"})
        like = did_you_mean(nearest_names(target, records)) if isinstance(target, str) else ""
        raise InputError(
            f"there is no predicate {target!r}{like or ('; targets with labels: ' + ', '.join(known) if known else '')}"
        )
    roles = {role for name, role in session.catalog.store.sources() if name == target}
    if "label" not in roles:
        is_open = bool(roles & {"given", "soft"}) or records[target].scope is not None
        kind = "has atoms to predict, but no labels" if is_open else "is closed"
        raise InputError(
            f"{target} {kind}, so there is nothing to audit: load its labels with {Parameter('target', True)}"
        )


class _Auditing:
    """An audit at work."""

    def __init__(
        self, session: Session, layout: Layout, info: PredicateInfo, folds: Folds, run: int, percent: int
    ) -> None:
        self.session, self.layout, self.info, self.folds, self.percent = session, layout, info, folds, percent
        self.notes: list[str] = []
        source, records = example_source(session.catalog.store), session.catalog.predicates()
        own = source.argument(records[info.name]) if source.kind == "type" else None
        common, private = self._spread()
        self.target = AuditedTarget(session.engine.schema, run, info.name, info.types, own, common, private, info.block)
        valued = session.catalog.store.valued()
        self.facts = tuple(
            FactView(
                name,
                record.readable,
                tuple(shown_arguments(record, valued=name in valued)),
                found.types,
                "example" if found.example_column else None,
                source.argument(record) if source.kind == "type" else None,
                "value" if name in valued else None,
            )
            for name, found in layout.predicates.items()
            if not found.open
            and name != folds.predicate
            and found.types
            and (record := records[name]).readable is not None
            and found.rows
        )
        self._keep()
        self.target = replace(self.target, block=(*info.block, *self._values()))
        rows = self._fetch(count_sides(self.target), "count the atoms under audit").to_pylist()
        self.labels = {truth: sum(r["n"] for r in rows if r["truth"] is truth) for truth in (True, False)}
        self.tested = {truth: sum(r["n"] for r in rows if r["truth"] is truth and r["test"]) for truth in (True, False)}
        if not sum(self.labels.values()):
            raise InputError(f"no query atom of {info.name} in these folds has a label: load labels of them")

    @property
    def all(self) -> int:
        """The labelled atoms."""
        return sum(self.labels.values())

    @property
    def all_tested(self) -> int:
        """Those that a fold tests."""
        return sum(self.tested.values())

    def result(self) -> Audit:
        """Look for leaks, and keep what is found."""
        baselines = self._baselines()
        steps = (self._copies, self._reversals, lambda: self._identity(baselines), self._naming, self._duplicates)
        found = [finding for step in staged("looking for leaks", steps, even=True) for finding in step()]
        found = [self._counted(finding) for finding in found]
        found.sort(key=lambda x: (-round(x.severity, 9), _ORDER.index(x.kind), x.predicate, x.what))
        schema = self.session.engine
        rows = [
            {
                "kind": x.kind,
                "predicate": x.predicate,
                "what": x.what,
                "count": x.count,
                "share": x.share,
                "severity": x.severity,
                "show_sql": schema.render(x.query),
            }
            for x in found
        ]
        findings = pa.Table.from_pylist(rows, _SCHEMA)
        scores = pa.Table.from_pylist([self._baseline_row(x) for x in baselines], _BASELINES)
        records, run = self.session.records, self.target.run
        targets = pa.array([self.info.name] * len(findings), pa.string())
        records.append("leak", run, findings.append_column("target", targets))
        records.append("audit_baseline", run, scores)
        return Audit(self.info.name, str(self.folds), Table(findings), Table(scores), tuple(self.notes), run)

    def _spread(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the local types whose constants are places in examples, and those whose constants stand in one example each."""
        local = {
            name: kind.domain for name, kind in self.layout.types.items() if kind.local and kind.domain is not None
        }
        if not local:
            return frozenset(), frozenset()
        found = self._fetch(
            union_all([examples_of_constants(name, domain) for name, domain in local.items()]),
            "count the examples of constants",
        )
        rows = found.to_pylist()
        many = max(FEW, self.layout.example_count * OFTEN)
        common = frozenset(row["type"] for row in rows if row["places"] > many * row["constants"])
        return common, frozenset(row["type"] for row in rows if row["places"] == row["constants"])

    def _values(self) -> Iterator[int]:
        """Yield the arguments that are few values of many others, one of which is true of each: such as classes, which are no entities."""
        for place in self.target.entities if len(self.info.types) > 1 else ():
            (row,) = self._fetch(values_of(self.target, place), "look for arguments that are values").to_pylist()
            if row["true_atoms"] == row["true_rests"] and MANY * row["constants"] <= row["rests"]:
                yield place

    # ---- the tables ------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """Keep the atoms and folds under audit, in place of those of an earlier audit of the target."""
        records, engine = self.session.records, self.session.engine
        mine = column("target").eq(exp.convert(self.info.name))
        before = exp.select(column("run")).from_(records.table("audit_atom")).where(mine).distinct()
        for old in engine.fetch(before, step="look for an earlier audit").column(0).to_pylist():
            for name in KEPT:
                records.clear(name, old)
        with engine.attached(self.folds.parts) as parts:
            constant = {"run": self.target.run, "target": self.info.name}
            query, columns = folded_atoms(self.layout, self.info, self.folds, parts, constant)
            records.insert("audit_atom", query, list(columns))
        records.append("audit_fold", self.target.run, kept_folds(self.folds))

    def _fetch(self, query: exp.Query, step: str) -> pa.Table:
        return self.session.engine.fetch(query, step=step)

    def _number(self, query: exp.Query, step: str) -> int:
        return int(self._fetch(query, step).column(0)[0].as_py())

    def _counted(self, finding: _Finding) -> _Finding:
        """Count the rows of the query that shows a finding."""
        return finding if finding.count else replace(finding, count=self._rows(finding.query, finding.kind))

    def _rows(self, query: exp.Query, what: str) -> int:
        return self._number(counted_rows(query.copy()), f"count {what}")

    # ---- predicates that say what labels say -----------------------------------------------------------

    def _copies(self) -> Iterator[_Finding]:
        """Find predicates that are labels under another name, and those that tell the labels of the atoms that they speak of."""
        every = [claim for facts in self.facts for claim in claims(self.target, facts)]
        # The best of each predicate, by what it does to the label: one reading is enough of several that say the same, one that takes more
        # arguments before others, and none negated where one is not.
        best: dict[str, dict[str, _Finding]] = {}
        batches = [range(k, min(k + TOGETHER, len(every))) for k in range(0, len(every), TOGETHER)]
        readings = Counter(claim.facts.predicate for claim in every)
        rows: list[dict[str, Any]] = []
        for batch in staged("comparing predicates with labels", batches, even=True):
            counts = agreements(self.target, [every[k] for k in batch])
            query = notable(counts, self.labels[True], self.labels[False], errors=COPY_ERRORS, least=TOLD, percent=COPY)
            found = self._fetch(query, "compare predicates with labels").to_pylist()
            rows += [{**row, "claim": row["claim"] + batch.start} for row in found]
        for row in sorted(rows, key=lambda row: (row["claim"], row["constant"] or "")):
            claim = every[row["claim"]]
            name, said, right = claim.facts.predicate, int(row["said"]), int(row["right"])
            for rank, finding in self._copy(claim, row["constant"], said, right, row["tried"] * readings[name]):
                best.setdefault(name, {}).setdefault(rank, finding)
        for found_of in best.values():
            yield next(found_of[rank] for rank in (_SAYS, _DENIES, _TELLS) if rank in found_of)

    def _copy(
        self, claim: Claim, constant: str | None, said: int, right: int, tried: int
    ) -> Iterator[tuple[str, _Finding]]:
        """Yield what a reading of a predicate that holds of `said` labelled atoms, `right` of them true, is found to be, of so many that were tried."""
        names, predicate = _variables(len(self.info.types)), claim.facts.predicate
        head, text = f"{self.info.name}({', '.join(names)})", claim.text(constant, names)
        agree, rarer = right + self.labels[False] - (said - right), min(self.labels.values())
        for rank, same in ((_SAYS, agree), (_DENIES, self.all - agree)):
            wrong = self.all - same
            if 100 * same <= COPY * self.all or COPY_ERRORS * wrong > rarer or not self._beyond_chance(wrong, tried):
                continue
            says = f"says what {head} says" if rank == _SAYS else f"is true where {head} is not true"
            what = f"{text} {says}: {_among(same, self.all, 'labelled atom')} agree"
            query = agreeing_atoms(self.target, claim, constant, negated=rank == _DENIES)
            yield rank, _Finding("label copy", predicate, what, query, same / self.all, same / self.all)
        if self.folds.by_example or said < TOLD or len(claim.places) < max(2, len(self.info.types)):
            return
        for truth, same in ((True, right), (False, said - right)):
            base = self.labels[truth] / self.all
            chance = math.sqrt(base * (1 - base) / said)
            if 100 * same >= COPY * said and base <= BALANCED and same / said - base > (SIGMAS + 1) * chance:
                what = (
                    f"{text} tells that {head} is {str(truth).lower()}: it is of {_among(same, said, 'atom')} that {predicate} has, "
                    f"and of {_percentage(base)} of all"
                )
                query = told_atoms(self.target, claim, constant)
                yield _TELLS, _Finding("facts", predicate, what, query, said / self.all, same / self.labels[truth])

    def _beyond_chance(self, wrong: int, tried: int) -> bool:
        """Return whether labels with as many true ones are so many that a copy with some errors is not expected among what was tried."""

        def choices(some: int) -> float:
            return math.lgamma(self.all + 1) - math.lgamma(some + 1) - math.lgamma(self.all - some + 1)

        return choices(self.labels[True]) - choices(wrong) >= math.log(tried) + SURELY

    # ---- reversed atoms --------------------------------------------------------------------------------

    def _reversals(self) -> Iterator[_Finding]:
        """Find atoms whose reverse is trained on, where its label tells theirs."""
        name = self.info.name
        for pair in self.target.pairs:
            turned = self._turned(pair)
            across = self._labels_of_reverses(pair, across=True)
            if not across:
                continue
            total = sum(across.values())
            more = max(sum(n for (truth, _), n in across.items() if truth is value) for value in (True, False))
            for equal in (False, True):
                right = sum(n for (truth, reverse), n in across.items() if (truth == reverse) == equal)
                if not right or not (right == total or right - more > SIGMAS * math.sqrt(total) / 2):
                    continue
                if equal and not across.get((True, True)):
                    continue
                query = reversed_atoms(self.target, pair, equal=equal, across=True)
                rows = self._rows(query, "reversed atoms")
                share = rows / self.all_tested
                label = "the same label" if equal else "the opposite label"
                tested = _among(rows, self.all_tested, "labelled test atom")
                what = f"{tested} have their reverse, {turned}, with {label} in training"
                yield _Finding("equal reverse" if equal else "opposite reverse", name, what, query, share, share, rows)
                query = reversed_atoms(self.target, pair, equal=equal, across=False)
                rows, true = self._rows(query, "true atoms with a reverse"), self.labels[True]
                if rows:
                    share, reverse = rows / true, "true" if equal else "false"
                    what = f"in all the data, {_among(rows, true, 'true atom')} have a reverse, {turned}, that is {reverse}"
                    yield _Finding("symmetry" if equal else "antisymmetry", name, what, query, share, share, rows)

    def _turned(self, pair: tuple[int, int]) -> str:
        """Return the target with two arguments exchanged."""
        names = list(_variables(len(self.info.types)))
        names[pair[0]], names[pair[1]] = names[pair[1]], names[pair[0]]
        return f"{self.info.name}({', '.join(names)})"

    def _labels_of_reverses(self, pair: tuple[int, int], *, across: bool) -> Mapping[tuple[bool, bool], int]:
        rows = self._fetch(
            reverse_labels(self.target, pair, across=across), "compare labels with those of reverses"
        ).to_pylist()
        return {(row["truth"], row["reverse"]): row["n"] for row in rows if None not in (row["truth"], row["reverse"])}

    # ---- entities --------------------------------------------------------------------------------------

    def _baselines(self) -> list[Baseline]:
        """Predict labels by identity alone, where entities are on both sides of a fold."""
        places = [i for i in self.target.entities if self._rows(shared_entities(self.target, (i,)), "shared entities")]
        pairs = [
            pair for pair in self.target.pairs if self._rows(shared_entities(self.target, pair), "shared entities")
        ]
        known = sorted({*places, *(i for pair in pairs for i in pair)})
        if not known:
            return []
        data = self._fetch(labelled_atoms(self.target), "read labels")
        # Entities of one type have one number, whichever argument they are at.
        entities: dict[int, Any] = {}
        for kind in dict.fromkeys(self.info.types[i] for i in known):
            mine = [i for i in known if self.info.types[i] == kind]
            joined = pa.chunked_array([chunk for i in mine for chunk in data.column(f"k{i}").chunks], pa.string())
            indices = joined.combine_chunks().dictionary_encode().indices
            codes = np.asarray(indices.to_numpy(), dtype=np.int64).reshape(len(mine), -1)
            entities |= dict(zip(mine, codes, strict=True))
        truth = np.asarray(data.column("truth").to_numpy(zero_copy_only=False), dtype=bool)
        part = np.asarray(data.column("part").to_numpy(), dtype=np.int64)
        return identity_baselines(truth, part, entities, pairs, self.folds.sides)

    def _identity(self, baselines: Sequence[Baseline]) -> Iterator[_Finding]:
        """Say of the best baseline of each type whether it tells labels."""
        for kind in dict.fromkeys(self.info.types[x.places[0]] for x in baselines):
            mine = [x for x in baselines if self.info.types[x.places[0]] == kind]
            best = max(mine, key=lambda x: (x.accuracy, x.auc if not math.isnan(x.auc) else 0.0))
            ranked = max(mine, key=lambda x: x.auc if not math.isnan(x.auc) else 0.0)
            fewer = 1 - (1 - best.accuracy) / (1 - best.majority) if best.majority < 1 else 0.0
            noise = SIGMAS * math.sqrt(best.majority * (1 - best.majority) / best.atoms)
            severity = fewer if best.accuracy - best.majority > noise and fewer >= 0.1 else 0.0
            if min(self.tested.values()) >= TOLD and ranked.auc >= RANKED and 2 * ranked.auc - 1 > severity:
                best, severity = ranked, 2 * ranked.auc - 1
            if not severity:
                continue
            places = tuple(i for i in self.target.entities if self.info.types[i] == kind)
            query = shared_entities(self.target, places)
            shared = self._rows(query, "shared entities")
            total = self._number(entities_of_tests(self.target, places), "count tested entities")
            by = "Bradley-Terry" if len(best.places) > 1 else f"majority per constant of argument {best.places[0] + 1}"
            area = "" if math.isnan(best.auc) else f", AUC {best.auc:.3f}"
            if best is ranked and best.accuracy <= best.majority:
                tells = f"ranks {counted(best.atoms, 'test atom')}{area} ({by})"
            else:
                tells = f"predicts {_percentage(best.accuracy)} of {counted(best.atoms, 'test label')}{area} ({by}), the majority class {_percentage(best.majority)}"
            known = _among(shared, total, f"tested {kind}", f"tested constants of {kind}")
            what = f"identity of {kind} alone {tells}; {known} are in training"
            yield _Finding(
                "identity", self.info.name, what, query, shared / total, min(max(severity, 0.0), 1.0), shared
            )

    def _baseline_row(self, found: Baseline) -> dict[str, Any]:
        name = found.name if len(found.places) > 1 else f"majority per argument {found.places[0] + 1}"
        auc = None if math.isnan(found.auc) else round(found.auc, 4)
        return {
            "baseline": name,
            "type": self.info.types[found.places[0]],
            "atoms": found.atoms,
            "majority": round(found.majority, 4),
            "accuracy": round(found.accuracy, 4),
            "auc": auc,
        }

    # ---- facts -----------------------------------------------------------------------------------------

    def _naming(self) -> Iterator[_Finding]:
        """Find facts that training sees and that name what is tested, where whole examples are folded."""
        if not self.folds.by_example:
            return
        own = self.layout.example_type
        for facts in self.facts:
            places = [j for j, kind in enumerate(facts.types) if kind == own and j != facts.example_place]
            for place in places if facts.example_place is not None else ():
                query = naming_facts(self.target, facts, place)
                rows = self._rows(query, "facts that name tested examples")
                if rows:
                    share = min(1.0, rows / max(self._facts(facts), 1))
                    what = f"{counted(rows, 'fact')} of {facts.predicate} ({_percentage(share)} of all) belong to an example that is trained on and name one that is tested"
                    yield _Finding("facts", facts.predicate, what, query, share, share, rows)
            wanted = self.target.entities
            if (
                facts.of_all
                and len(wanted) > 1
                and len(wanted) == len(self.info.types) - (self.target.example_place is not None)
            ):
                yield from self._private(facts, wanted)

    def _private(self, facts: FactView, wanted: Sequence[int]) -> Iterator[_Finding]:
        """Find facts of all examples about entities that only tested examples have."""
        for chosen in permutations(range(len(facts.types)), len(wanted)):
            places = tuple(zip(wanted, chosen, strict=True))
            if any(self.info.types[i] != facts.types[j] for i, j in places):
                continue
            query = facts_of_all(self.target, facts, places)
            rows = self._rows(query, "facts about tested entities")
            if rows:
                total = self._rows_tested()
                what = (
                    f"{facts.predicate} belongs to all examples, so that training sees its facts about the constants of {counted(rows, 'test atom')} "
                    f"({_percentage(rows / total)}) that no training atom has"
                )
                yield _Finding("facts", facts.predicate, what, query, rows / total, rows / total, rows)
                return

    def _facts(self, facts: FactView) -> int:
        return self.layout.predicates[facts.predicate].rows

    def _rows_tested(self) -> int:
        return max(self.all_tested, 1)

    # ---- duplicates ------------------------------------------------------------------------------------

    def _duplicates(self) -> Iterator[_Finding]:
        """Find examples, or entities where atoms are folded, with the facts of others that are trained on."""
        if self.folds.by_example:
            each = [(Units(self.target, self.facts), "example")]
        else:
            each = [
                (Units(self.target, self.facts, places), self.info.types[places[0]])
                for places in duplicated_places(self.target)
            ]
        for units, what in each:
            if not units.sources:
                continue
            total = self._number(unit_count(units), f"count tested {what}s")
            if not total:
                continue
            called = (f"tested {what}", f"tested {what}s" if what == "example" else f"tested constants of {what}")
            own = "" if what == "example" else " are new to training and"
            with Stage("looking for duplicates"):
                query = equal_units(units)
                equal = self._rows(query, "duplicates")
            if equal:
                text = f"{_among(equal, total, *called)}{own} have the same facts as one in training"
                yield _Finding("duplicate", self.info.name, text, query, equal / total, equal / total, equal)
            pairs = self._number(candidate_count(units, self.percent), "estimate the pairs of near duplicates")
            if pairs > MOST_PAIRS:
                self.notes.append(
                    Message(
                        f"near duplicates among {counted(total, *called)} were not looked for: {pairs:,} pairs share one of their rarest facts, more than {MOST_PAIRS:,}; "
                        f"give a larger {Parameter('near')}"
                    )
                )
                continue
            hidden = {kind for facts, _, _ in units.sources for kind in facts.types} & self.target.common
            if hidden and not units.places:
                self.notes.append(
                    f"near duplicates were looked for without the constants of {' and '.join(sorted(hidden))}, which stand in so many examples that "
                    "they are taken for places in these"
                )
            with Stage("looking for near duplicates"):
                query = similar_units(units, self.percent)
                similar = self._rows(query, "near duplicates")
            if similar > equal:
                text = f"{_among(similar, total, *called)}{own} share {self.percent} % of their facts with one in training (Jaccard similarity)"
                yield _Finding("near duplicate", self.info.name, text, query, similar / total, similar / total, similar)


def _variables(count: int) -> tuple[str, ...]:
    return tuple(_VARIABLES[i] if i < len(_VARIABLES) else f"x{i}" for i in range(count))


def _among(some: int, every: int, one: str, many: str | None = None) -> str:
    """Return how many of what there are, with the percentage."""
    if some == every:
        return f"all {counted(every, one, many)}" if every > 1 else f"the only {one}"
    return f"{some:,} of {counted(every, one, many)} ({_percentage(some / every)})"


def _percentage(share: float) -> str:
    """Return a share in percent, never rounded to all or nothing."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if share >= 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
