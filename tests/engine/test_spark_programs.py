"""Random programs over random databases: on Spark they have the counts and the ground clauses that they have in DuckDB."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.spark import skew
from sqlrl.engine.spark.server import Spark
from sqlrl.errors import InfeasibleError, ModelError, UnsupportedError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.counts import count_differences, groundings, true_counts
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.program import Extent
from sqlrl.plan.truth_values import World
from tests.ground.cases import Case, counted, load, programs, rules, sentences, wide, witnessed
from tests.spark import beside

# 200 programs; HYPOTHESIS_PROFILE=search looks at thousands.
COUNT = 40 if 10 < settings().max_examples <= 60 else settings().max_examples
MANY = settings(max_examples=COUNT)
KINDS = (rules, counted, witnessed, sentences, wide)


def plain(value: Any) -> Any:
    """A value that equals another one only if it has the same numbers of the same type."""
    if isinstance(value, csr_array):
        return [plain(x) for x in (value.indptr, value.indices, value.data)], value.shape
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tolist()
    return value


def found(engine: QueryEngine, layout: Layout, case: Case, seed: int) -> dict[str, Any]:
    """All that is asked of a program: its clauses, their ground clauses, and counts in two worlds and between them."""
    with closing(bind_program(engine, layout, case.model)) as program:
        program.expand()
        extent = Extent(program)
        network = ground_network(extent)
        answers = {each.name: plain(getattr(network, each.name)) for each in fields(network)}
        answers["features"] = program.feature_of
        answers["groundings"] = groundings(extent).tolist()
        generator = np.random.default_rng(seed)
        # Worlds are of atoms that users see; helper atoms, which follow from them, are left out of both.
        chosen = network.atoms[(generator.random(len(network.atoms)) < 0.5) & ~network.helper]
        if not network.helper.any():
            answers["true"] = true_counts(extent).tolist()
            with program.shown(pa.table({"atom": pa.array(chosen, pa.int64())})) as name:
                answers["in a world"] = true_counts(extent, World(name)).tolist()
                answers["difference"] = count_differences(extent, World(name)).tolist()
        oracle = ProgramOracle(extent)
        world = np.isin(network.atoms, chosen)
        wanted = generator.integers(-1, 2, len(network.clauses)).astype(np.int8)
        for name in ("unsatisfied", "among"):
            part = getattr(oracle, name)(world, wanted)
            answers |= {f"{name} {each.name}": plain(getattr(part, each.name)) for each in fields(part)}
        answers["unmet"] = oracle.unmet(world, wanted, oracle.sizes)
        return answers


@pytest.mark.parametrize("kind", KINDS)
@MANY
@given(st.data(), st.integers(0, 9))
def test_random_programs(kind: Any, spark: Spark, data: st.DataObject, seed: int) -> None:
    case = data.draw(programs(kind=kind))
    engine, layout = load(case)
    with closing(engine), beside(spark, engine) as plans:
        try:
            expected = found(engine, layout, case, seed)
        except (ModelError, UnsupportedError):
            reject()
        except InfeasibleError as error:
            with pytest.raises(InfeasibleError, match=f"^{re.escape(str(error))}$"):
                found(plans, layout, case, seed)
            return
        assert found(plans, layout, case, seed) == expected


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=max(1, COUNT // 20))
@given(st.data(), st.integers(0, 9))
def test_random_programs_with_salted_joins(kind: Any, spark: Spark, data: st.DataObject, seed: int) -> None:
    """Every key of every table that is joined counts as heavy."""
    case = data.draw(programs(kind=kind))
    engine, layout = load(case)
    with pytest.MonkeyPatch.context() as patch, closing(engine), beside(spark, engine) as plans:
        patch.setattr(skew, "SALTED_ROWS", 0)
        patch.setattr(skew, "TASKS", 10**9)
        try:
            expected = found(engine, layout, case, seed)
        except (ModelError, UnsupportedError, InfeasibleError):
            reject()
        assert found(plans, layout, case, seed) == expected
