"""From a model and a layout to a program: features, blocks, helpers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sqlrl.catalog.atoms import ATOM_LIMIT
from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import Engine
from sqlrl.ground.blocks import BlockRule, at_most_one, pair_of_constants, written_out
from sqlrl.ground.compiling import CompiledRules
from sqlrl.ground.constants import ConstantIds
from sqlrl.ground.helpers import HelperTables
from sqlrl.ground.independence import check_independence, check_templates
from sqlrl.ground.program import BoundFeature, Program
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.plain import plain_model
from sqlrl.logic.printer import placed
from sqlrl.logic.shapes import Shaper
from sqlrl.logic.terms import Clause, Feature

MOST_CONSTANTS = 200
"""Types up to this size are looked at for at-most-one clauses written out constant by constant."""

_numbers = count(1)


def bind_program(
    engine: Engine,
    layout: Layout,
    model: Model,
    *,
    known: CompiledRules | None = None,
    limit: int = ATOM_LIMIT,
    planned: bool = False,
) -> Program:
    """Hold a model against a layout.

    Parameters
    ----------
    engine : Engine
    layout : Layout
        Must know every predicate of the model's rules.
    model : Model
    known : CompiledRules, optional
        What rules of models before were compiled to.
    limit : int
        The most atoms of a helper predicate, over all examples.
    planned : bool
        Whether helper atoms are planned and not listed: queries over them can be explained, and are as slow as listing them.

    Returns
    -------
    Program
        Its templates have no clauses yet unless the model lists them: call `expand`.

    Raises
    ------
    ModelError
        A rule ties examples together.
    GroundingLimitError
        A quantifier needs more helper atoms than the limit; names the rule and where it stands.
    UnsupportedError
        A template has a `+` variable where helper atoms cannot follow it.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)  # calls bind_program
    >>> program.clause_count, program.weights().tolist()
    (1, [1.0])
    """
    opened = frozenset(p.name for p in layout.predicates.values() if p.open)
    model, owners, repeated = plain_model(model, opened)
    compiling = (known or CompiledRules()).of(model, layout)
    found = [
        (rule, each, beside) for rule, beside in zip(model.rules, repeated, strict=True) for each in compiling(rule)
    ]
    compiled = [(rule, each.feature) for rule, each, _ in found]
    for rule, feature in compiled:
        check_independence(layout, rule, feature)
        check_templates(layout, rule, feature)
    prefix = f"scratch_{next(_numbers)}"
    constants = ConstantIds(engine, layout, prefix)
    blocks, stated = _blocks(layout, compiled, constants)
    tables = HelperTables(engine, layout, prefix, constants.single_row, limit=limit, planned=planned)
    defining: list[Clause] = []
    try:
        for rule, feature in compiled:
            for helper in feature.helpers:
                defining.extend(tables.add(helper, placed(rule)))
    except BaseException:
        tables.close()
        constants.close()
        raise
    layout = tables.layout
    shaper = Shaper(lambda predicate, position: layout.predicates[predicate].types[position])
    features = [
        BoundFeature(rule, each.feature.repeated(beside), each.instances(shaper))
        for i, (rule, each, beside) in enumerate(found)
        if i not in stated
    ]
    for clause in defining:
        feature = Feature(clause.variables, (), (clause,))
        features.append(BoundFeature(None, feature, (shaper(clause),)))
    return Program(engine, layout, model, features, blocks, constants, tables.tables, tables.views, owners=owners)


def _blocks(
    layout: Layout, compiled: Sequence[tuple[Rule, Feature]], constants: ConstantIds
) -> tuple[list[BlockRule], set[int]]:
    """Return the blocks of a model, one a predicate at the most, and the rules that only state one."""
    blocks = {p.name: BlockRule(p.name, p.block, exact=True) for p in layout.predicates.values() if p.open and p.block}
    stated: set[int] = set()
    pairs: dict[tuple[str, int], list[int]] = {}
    hard = [(i, f.clauses[0]) for i, (rule, f) in enumerate(compiled) if rule.hard and len(f.clauses) == 1]
    for i, clause in hard:
        found = at_most_one(clause)
        if found is not None and layout.predicates[found[0]].open:
            rule = blocks.setdefault(found[0], BlockRule(found[0], (found[1],), exact=False))
            if rule.positions == (found[1],):
                stated.add(i)
        pair = pair_of_constants(clause)
        if pair is not None and layout.predicates[pair[0]].open:
            pairs.setdefault(pair[:2], []).append(i)
    names = {key: constants.names(layout.predicates[key[0]].types[key[1]], MOST_CONSTANTS) for key in pairs}
    for predicate, position in sorted(written_out((clause for _, clause in hard), names)):
        rule = blocks.setdefault(predicate, BlockRule(predicate, (position,), exact=False))
        if rule.positions == (position,):
            stated.update(pairs[predicate, position])
    return list(blocks.values()), stated
