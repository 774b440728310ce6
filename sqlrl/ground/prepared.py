"""A program whose statements are rendered once: a few examples are grounded with examples as parameters, and nothing is created.

Of the statements one reads the examples with their query atoms, one whatever is counted and the template constants that the model has
not seen, and one the ground clauses of each open shape. What that does not suffice for (a limit that counts must decide, evidence that
violates a hard clause, a number beyond 128 bits) is for `ground_network`, which says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.distinct import distinct
from sqlrl.engine.nodes import column, conjunction, named, star_count, subquery, table
from sqlrl.errors import OverflowEngineError
from sqlrl.ground.atoms import AtomColumns, assembled_atoms, atoms_query, block_keys, open_predicates
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.counts import Counts, GroundingCount, grounding_counts, grounding_totals
from sqlrl.ground.features import MANY_SHAPES
from sqlrl.ground.grounding import assemble, block_shapes
from sqlrl.ground.memory import memory_budget, most_entries, open_width
from sqlrl.ground.network import IntArray, Network, TiedTable
from sqlrl.ground.pipeline import Pipeline, ShapePlan
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.ground.rows import AtomIndex, GroundRows
from sqlrl.ground.tied import TiedClauses, ground_tied, tied_clauses
from sqlrl.ground.unseen import Unseen, listed_templates
from sqlrl.logic.shapes import Instance, Shape, ShapeLiteral
from sqlrl.logic.terms import Variable
from sqlrl.plan.counting import count_violated, enumerated_by_count
from sqlrl.plan.expansion import unlisted
from sqlrl.plan.grounding import ground
from sqlrl.plan.named_clauses import evidence_violations
from sqlrl.plan.prepared import EXAMPLES, NAMED, Part, fused, over_example, over_examples, over_name, over_names
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import OBSERVED

FEW = 64
"""The most examples that are grounded so: of more, the statements of a window take no time to speak of."""

_Read = tuple[PredicateInfo, BlockRule | None, list[AtomColumns]]

MOST_ROWS = 20_000
"""The most rows of a statement: more are better read as arrays than as tuples of Python."""

MOST_LISTED = 100_000
"""The most clauses of a template that are held in memory, where to look for those of few examples takes no time to speak of."""

_Row = tuple[tuple[int, ...], tuple[list[int], ...]]
"""Numbers, and lists of them, those that are NULL left out."""

Take = Callable[["_Numbers", list[_Row]], bool]
"""Reads the rows of a part into what is known; False if this is for `ground_network`."""


@dataclass(frozen=True, eq=False)
class PreparedNetwork:
    """Some examples, grounded."""

    examples: IntArray  # their ids, in the order given
    network: Network
    unseen: Unseen | None  # None if there are templates that nobody looked at


@dataclass(frozen=True, eq=False)
class _PreparedShape:
    """How a shape is grounded: each of its clauses, or `single` for all, if they can be tied."""

    each: ShapePlan
    tied: TiedClauses | None
    single: ShapePlan | None


@dataclass(eq=False)
class _Numbers:
    """What the statement of numbers says."""

    evidence: Counts
    counted: list[tuple[GroundingCount, list[tuple[int, int]]]] = field(default_factory=list)
    combinations: set[tuple[int, ...]] = field(default_factory=set)  # template and constants
    touched: set[int] = field(default_factory=set)  # query atoms
    ground: dict[Shape, list[tuple[int, ...]]] = field(default_factory=dict)  # `clause, l0, l1, ...` of some shapes


def why_not(program: Program) -> str | None:
    """Return why a program cannot be grounded by statements that are rendered once; None if it can."""
    if program.engine.dialect != "duckdb":
        return "its plans run on a server"
    if any(f.feature.plus and f.instances and f.expansions is None for f in program.features):
        return "it has a template without a list of clauses, which grows with the examples"
    if len(program.shapes) >= MANY_SHAPES:
        return f"its clauses have {len(program.shapes)} shapes, which are grounded together"
    closed = (use for use in program.shapes.values() if not use.bound.is_open)
    if any(enumerated_by_count(use.bound, OBSERVED, EXAMPLES) for use in closed):
        return "a rule about evidence alone is counted by enumerating its groundings"
    return None


@dataclass(frozen=True)
class _Text:
    """A statement, and the one that takes its place where there is one example."""

    many: str
    one: str | None = None

    def of(self, values: _Values) -> str:
        """Return the text that runs with some values."""
        return self.many if self.one is None or not values.alone else self.one


@dataclass(frozen=True)
class _Values:
    """Examples as a parameter of that name, without an `s` where there is one; None for all."""

    name: str
    examples: Sequence[int] | Sequence[str] | None

    @property
    def alone(self) -> bool:
        """Whether there is one."""
        return self.examples is not None and len(self.examples) == 1

    def of(self, text: _Text) -> Mapping[str, Any] | None:
        """Return the parameters of a text."""
        if self.examples is None:
            return None
        if self.alone and text.one is not None:
            return {self.name.removesuffix("s"): self.examples[0]}
        return {self.name: list(self.examples)}


class PreparedProgram:
    """A program that `why_not` has nothing against, as it is now: whoever changes its clauses or its layout must make another one."""

    def __init__(self, program: Program, *, whole: bool) -> None:
        # With `whole` all examples are grounded, else some that each call names.
        self.program, self._engine = program, program.engine
        self._some = None if whole else EXAMPLES
        self._open = list(open_predicates(program))
        self._uses = [use for use in program.shapes.values() if use.bound.is_open]
        self._known: list[tuple[GroundingCount, list[tuple[int, int]]]] = []  # what no query has to count
        self._texts: dict[int, _Text] = {}  # of plans that this holds, by identity
        self._from_templates: set[Shape] = (
            set()
        )  # shapes whose ground clauses come with the combinations of their template
        self._extents: dict[tuple[int | None, int | None], Extent] = {}
        self._at_once: dict[tuple[str, int | None, int | None], bool] = {}
        self._listed = True  # whether the new combinations of all templates are part of the numbers

    @cached_property
    def _shapes(self) -> list[_PreparedShape]:
        """The query of each open shape, and its text."""
        found = []
        for use in self._uses:
            each = ShapePlan(use, ground(use.bound, self._some), tuple(use.clauses))
            tied = tied_clauses(self.program, each)
            single = None
            if tied is not None:
                single = tied.plan(self.program.constants.scratch("tied", tied.row), self._some)
                self._texts[id(single)] = self._text(single.plan.query)
            elif use.shape in self._from_templates:
                found.append(_PreparedShape(each, None, None))
                continue
            self._texts[id(each)] = self._text(each.plan.query)
            found.append(_PreparedShape(each, tied, single))
        return found

    @cached_property
    def _atoms(self) -> list[tuple[int, Part]]:
        found = []
        for i, (info, rule) in enumerate(self._open):
            keys = () if rule is None else (*(f"key_{key}" for key in block_keys(info, rule)), "decided")
            query = atoms_query(info, rule, self._some, keys_alone=True)
            found.append((i, Part(query, ("atom", "example", "prior", *keys))))
        return found

    def _text(self, query: exp.Query) -> _Text:
        few, render = _few(query), self._engine.render
        if self._some is None:
            return _Text(render(few))
        one = over_example(few)
        return _Text(render(over_examples(few)), None if one is None else render(one))

    def _rows(self, text: _Text, values: _Values, step: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a text of `_text`."""
        names, rows = self._engine.fetch_rows(text.of(values), step=step, values=values.of(text))
        if len(rows) > MOST_ROWS:
            raise _TooManyRowsError
        return names, rows

    @cached_property
    def _chosen(self) -> _Text:
        """The text that reads the examples and their query atoms."""
        examples, render = self.program.layout.examples, self._engine.render
        if self._some is not None:
            one = over_name(self._atoms, examples, MOST_ROWS + 1)
            many = render(over_names(self._atoms, examples, MOST_ROWS + 1))
            return _Text(many, None if one is None else render(one))
        every = Part(exp.select("*").from_(table(examples)), ("ordinal", "example"))
        return self._text(fused([(NAMED, every), *self._atoms]))

    @cached_property
    def _numbers(self) -> tuple[list[tuple[Part, Take]], _Text | None]:
        """The parts of the numbers, what reads each, and the text of their statement, if there is any."""
        parts = [*self._totals(), *self._evidence(), *self._templates()]
        text = self._text(fused(list(enumerate(p for p, _ in parts)))) if parts else None
        return parts, text

    def _totals(self) -> Iterator[tuple[Part, Take]]:
        """Plan the groundings of each clause."""
        for each in grounding_counts(Extent(self.program, self._some)):
            if each.query is None:
                self._known.append((each, [(0, each.number)]))
                continue

            def take(numbers: _Numbers, rows: list[_Row], each: GroundingCount = each) -> bool:
                """Note the groundings of each clause, or of all."""
                numbers.counted.append((each, [(row[1] if each.apart else 0, row[0] or 0) for row, _ in rows]))
                return True

            yield Part(each.query, ("n", "clause") if each.apart else ("n",)), take

    def _evidence(self) -> Iterator[tuple[Part, Take]]:
        """Plan what evidence alone violates."""
        for use in self.program.shapes.values():
            if use.bound.is_open:
                continue

            def add(numbers: _Numbers, rows: list[_Row], use: ShapeUse = use) -> bool:
                """Add violated groundings."""
                for row, _ in rows:
                    for clause in (row[1],) if use.parameters is not None else use.clauses:
                        numbers.evidence[clause] += row[0] or 0
                return True

            columns = ("n", "clause") if use.parameters is not None else ("n",)
            yield Part(count_violated(use.bound, OBSERVED, self._some), columns), add
        for use, _ in block_shapes(self.program):
            wrong = subquery(evidence_violations(use.bound, self._some), "w")
            yield Part(exp.select(named(star_count(), "n")).from_(wrong), ("n",)), lambda _, rows: not rows[0][0][0]

    def _templates(self) -> Iterator[tuple[Part, Take]]:
        """Plan the combinations of template constants that have no clause, and the atoms that they touch."""
        program = self.program
        for i, bound in listed_templates(program):
            plus = bound.feature.plus
            # What the evidence decides of a clause without an open literal leaves no combination open.
            instances = [x for x in bound.instances if bind(x.shape, program.layout).is_open]
            if self._is_complete(i) or not instances:
                continue
            known = self._listed_combinations(i)
            plans = [
                unlisted(
                    instance, program.layout, program.expansions[i] if known is None else None, plus=plus,
                    constants=program.constants.single_row(instance), examples=self._some,
                )
                for instance in instances
            ]  # fmt: skip
            if None in plans or any(self._has_helper(instance.shape.literals) for instance in instances):
                self._listed = False
                return
            clauses = self._clauses_of(instances, plus) if known is not None else None
            for query, atoms, lists in filter(None, plans):
                names = (*(f"plus{k}" for k in range(len(plus))), *(f"l{k}" for k in range(atoms)))

                def take(
                    numbers: _Numbers,
                    rows: list[_Row],
                    i: int = i,
                    size: int = len(plus),
                    known: frozenset[tuple[int, ...]] = known or frozenset(),
                    clauses: Mapping[tuple[int, ...], int] | None = clauses,
                    shape: Shape = instances[0].shape,
                ) -> bool:
                    """Note the combinations that some query atom has, and these atoms, and the ground clauses of others."""
                    if clauses is not None:
                        listed = ((clauses.get(values[:size]), values[size:]) for values, _ in rows)
                        numbers.ground[shape] = [(clause, *atoms) for clause, atoms in listed if clause is not None]
                    for values, found in rows:
                        if values[:size] in known:
                            continue
                        atoms = {*values[size:], *chain.from_iterable(found)} - {0}
                        if atoms:
                            numbers.combinations.add((i, *values[:size]))
                            numbers.touched |= atoms
                    return True

                yield Part(query, names, tuple(f"e{k}" for k in range(lists))), take

    def _listed_combinations(self, template: int) -> frozenset[tuple[int, ...]] | None:
        """Return the combinations of constants for which a template has clauses; None if they are many, for the database to look through."""
        size = len(self.program.features[template].feature.plus)
        listed = self.program.expansions[template]
        columns = [column(f"plus{k}") for k in range(size)]
        _, rows = self._engine.fetch_rows(
            exp.select(*columns).from_(table(listed)).limit(MOST_LISTED + 1), step="read the clauses of a template"
        )
        return frozenset(rows) if len(rows) <= MOST_LISTED else None

    def _clauses_of(self, instances: Sequence[Instance], plus: tuple[str, ...]) -> dict[tuple[int, ...], int] | None:
        """Return the clause of each combination if all clauses of a shape are those of one template, one row of its query is one of theirs, and none merge."""
        shape, terms = instances[0].shape, instances[0].arguments
        users = [x for bound in self.program.features for x in bound.instances if x.shape == shape]
        use = next((use for use in self._uses if use.shape == shape), None)
        names = [x.name for x in terms if isinstance(x, Variable)]
        if (
            len(instances) > 1
            or len(users) > 1
            or use is None
            or use.parameters is None
            or sorted(names) != sorted(plus)
        ):
            return None
        plan = ground(use.bound, self._some)
        if len(names) < len(terms) or plan.has_multiplicity or plan.has_absent or plan.list_signs or plan.may_repeat:
            return None
        if tied_clauses(self.program, ShapePlan(use, plan, tuple(use.clauses))) is not None:
            return None
        columns = [column("clause"), *(column(f"k{names.index(name)}") for name in plus)]
        listed = exp.select(*columns).from_(table(use.parameters))
        _, rows = self._engine.fetch_rows(listed, step="read the clauses of a shape")
        found = {row[1:]: row[0] for row in rows}
        if len(found) < len(rows):
            return None
        self._from_templates.add(shape)
        return found

    def _is_complete(self, template: int) -> bool:
        """Whether a template has a clause for every combination of constants of its types."""
        program, bound = self.program, self.program.features[template]
        kinds = dict(bound.feature.variables)
        types = [program.layout.types[kinds[name]] for name in bound.feature.plus]
        assert bound.expansions is not None, "the template lists its clauses"
        most = math.prod(kind.size for kind in types)
        if len(bound.expansions.rows) < most:
            return False
        known = conjunction(column(f"plus{k}") >= 0 for k in range(len(types))) or exp.true()
        size = exp.select(star_count()).from_(table(program.expansions[template])).where(known)
        return bool(self._engine.fetch_rows(size, step="count the clauses of a template")[1][0][0] == most)

    def _has_helper(self, literals: Sequence[ShapeLiteral]) -> bool:
        return any(x.predicate in self.program.helper_names for x in literals)

    def render(self) -> None:
        """Render all statements now."""
        # What comes with the numbers needs no statement of its own.
        _ = self._numbers, self._shapes, self._chosen

    # ---- running them -----------------------------------------------------------------------------------

    def extent(self, size: int | None, limit: int | None) -> Extent:
        """Return the extent of so many examples, None for all; what it knows of bounds is kept for the next call."""
        key = size, limit
        if key not in self._extents:
            self._extents[key] = Extent(self.program, self._some, limit, size)
        return self._extents[key]

    def at_once(self, extent: Extent, method: str, fits: Callable[[Extent], bool]) -> bool:
        """Return whether a method grounds one of these extents at once, which is asked for once."""
        key = method, extent.example_count, extent.limit
        if key not in self._at_once:
            self._at_once[key] = fits(extent)
        return self._at_once[key]

    def ground(self, chosen: Sequence[str] | None, limit: int | None) -> PreparedNetwork | None:
        """Ground examples by their names, None for all; None if that is for `ground_network`."""
        layout = self.program.layout
        size = layout.example_count if chosen is None else len(chosen)
        atoms = sum(info.atom_count for info, _ in self._open) * size // max(layout.example_count, 1)
        if not 0 < size <= FEW or atoms > MOST_ROWS:
            return None
        extent = self.extent(None if chosen is None else size, limit)
        bounds = [extent.join_bound(use) for use in self._uses]
        literals = sum(bound * open_width(use) for bound, use in zip(bounds, self._uses, strict=True))
        if (limit is not None and max(bounds, default=0) > limit) or literals > most_entries(self.program):
            return None
        try:
            return self._ground(extent, chosen)
        except (OverflowEngineError, _TooManyRowsError):
            return None

    def _ground(self, extent: Extent, chosen: Sequence[str] | None) -> PreparedNetwork | None:
        program = self.program
        examples, read = self._read_atoms(chosen)
        if examples is None:
            return None
        atoms = assembled_atoms(program, read)
        values = _Values("examples", None if chosen is None else examples.tolist())
        numbers = self._count(values)
        if numbers is None:
            return None
        budget = memory_budget(program, len(atoms.ids))
        pipeline = _PreparedPipeline(
            extent, AtomIndex(atoms.ids), numbers.evidence, budget,
            run=self._rows, values=values, texts=self._texts, known=numbers.ground,
        )  # fmt: skip
        pieces: list[GroundRows | TiedTable] = []
        for shape in self._shapes:
            tied = None
            if shape.tied is not None and shape.single is not None:
                tied = ground_tied(extent, atoms, pipeline, shape.tied, shape.single)
            pieces += pipeline.rows(shape.each) if tied is None else [tied]
        total = grounding_totals(program, [*self._known, *numbers.counted])
        network = assemble(extent, atoms, pieces, numbers.evidence, total=total, views=True)
        if (network.hard & (network.evidence_violated > 0)).any():
            return None
        unseen = Unseen(len(numbers.combinations), len(numbers.touched)) if self._listed else None
        return PreparedNetwork(examples, network, unseen)

    def _read_atoms(self, chosen: Sequence[str] | None) -> tuple[IntArray | None, list[_Read]]:
        """Read examples, None if the data lack one or one comes twice, and their query atoms by predicate."""
        values = _Values("names", None if chosen is None else list(chosen))
        _, rows = self._rows(self._chosen, values, "read the examples and their query atoms")
        parts: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            parts.setdefault(row[0], []).append(row)
        ids = [row[2] for row in sorted(parts.get(NAMED, []))]
        if None in ids or len(set(ids)) < len(ids) or (chosen is not None and len(ids) < len(chosen)):
            return None, []
        found = ((info, rule, parts.get(i, [])) for i, (info, rule) in enumerate(self._open))
        atoms = [(info, rule, [_columns(rows, info, rule)]) for info, rule, rows in found]
        return np.array(ids, dtype=np.int64), atoms

    def _count(self, values: _Values) -> _Numbers | None:
        """Run the statement of numbers; None if one of them is for `ground_network` to say."""
        parts, text = self._numbers
        numbers = _Numbers(np.full(self.program.clause_count, 0, dtype=object))
        if text is None:
            return numbers
        _, rows = self._rows(text, values, "count groundings and what is unseen")
        found: list[list[_Row]] = [[] for _ in parts]
        width = max(len(part.columns) for part, _ in parts)
        for number, *row in rows:
            part, _ = parts[number]
            lists = tuple(x for x in row[width:] if x is not None)
            found[number].append((tuple(row[: len(part.columns)]), lists))
        fine = [take(numbers, each) for (_, take), each in zip(parts, found, strict=True)]
        return numbers if all(fine) else None


class _TooManyRowsError(Exception):
    """A statement has more than `MOST_ROWS` rows."""


def _few(query: exp.Query) -> exp.Query:
    """Return `MOST_ROWS` rows of a query, and one more if there are more."""
    return exp.select("*").from_(subquery(query, "few")).limit(MOST_ROWS + 1)


def _columns(rows: Sequence[tuple[Any, ...]], info: PredicateInfo, rule: BlockRule | None) -> AtomColumns:
    """Return the columns of query atoms from rows `part, atom, example, prior`, and for a block its keys and `decided`."""
    ids, example = (np.array([row[i] for row in rows], dtype=np.int64) for i in (1, 2))
    prior = np.array([row[3] or 0.0 for row in rows], dtype=np.float64)
    if rule is None:
        return ids, example, prior, np.full(len(rows), -1), np.zeros(len(rows), dtype=np.bool_)
    last = 4 + len(block_keys(info, rule))
    keys = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(4, last)]
    block = distinct(keys).inverse if keys else np.zeros(len(rows), dtype=np.int64)
    return ids, example, prior, block, np.array([row[last] for row in rows], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class _PreparedPipeline(Pipeline):
    """Runs texts in place of queries."""

    run: Callable[[_Text, _Values, str], tuple[list[str], list[tuple[Any, ...]]]] = field(kw_only=True)
    values: _Values = field(kw_only=True)
    texts: dict[int, _Text] = field(kw_only=True)  # by identity of the plan
    known: Mapping[Shape, list[tuple[int, ...]]] = field(kw_only=True)  # rows that were read already

    def stream(self, each: ShapePlan) -> Iterator[pa.RecordBatch]:
        """Run the text of a query, all rows at once."""
        rows: Sequence[tuple[Any, ...]]
        if each.use.shape in self.known:
            rows = self.known[each.use.shape]
            names = ["clause", *(f"l{i}" for i in range(len(each.plan.signs)))]
        else:
            names, rows = self.run(self.texts[id(each)], self.values, f"ground {each.use.shape}")
        if rows:
            kinds = [pa.list_(pa.int64()) if name.startswith("e") else pa.int64() for name in names]
            columns = zip(*rows, strict=True)
            yield pa.record_batch([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], names=names)
