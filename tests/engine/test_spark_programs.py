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
from sqlrl.ground.network import Network
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.program import Extent
from sqlrl.plan.truth_values import World
from tests.effort import PROFILE, draws
from tests.ground.cases import Case, counted, load, programs, rules, sentences, wide, witnessed
from tests.spark import beside

# HYPOTHESIS_PROFILE=thorough looks at 30 programs, search at thousands. Those of long clauses take ten times as long as others.
KINDS = {rules: 24, counted: 12, sentences: 16, witnessed: 6, wide: 1}


def times(number: int) -> settings:
    """Draw as many programs as the profile asks for, and in the quick tier three: each takes a second."""
    return settings(max_examples=min(3, number) if PROFILE == "quick" else draws(number))


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
        answers = arrays_of(network)
        answers["features"] = program.feature_of
        answers["groundings"] = groundings(extent).tolist()
        generator = np.random.default_rng(seed)
        # Worlds are of atoms that users see; helper atoms, which follow from them, are left out of both.
        chosen = network.atoms[(generator.random(len(network.atoms)) < 0.5) & ~network.helper]
        if not network.helper.any():
            answers["true"] = true_counts(extent).tolist()
            with program.rows_table(pa.table({"atom": pa.array(chosen, pa.int64())})) as name:
                answers["in a world"] = true_counts(extent, World(name)).tolist()
                answers["difference"] = count_differences(extent, World(name)).tolist()
        oracle = ProgramOracle(extent)
        world = np.isin(network.atoms, chosen)
        wanted = generator.integers(-1, 2, len(network.clauses)).astype(np.int8)
        for name in ("unsatisfied", "among"):
            part = getattr(oracle, name)(world, wanted)
            answers |= {f"{name} {field}": values for field, values in arrays_of(part).items()}
        answers["unmet"] = oracle.unmet(world, wanted, oracle.sizes)
        return answers


def arrays_of(network: Network) -> dict[str, object]:
    """All that a network holds, its ground clauses row by row."""
    named = {each.name: getattr(network, each.name) for each in fields(network) if each.name != "rows"}
    listed = {name: getattr(network, name) for name in ("indptr", "literals", "row_clause", "multiplicity")}
    return {name: plain(values) for name, values in (named | listed).items()}


def compare(spark: Spark, case: Case, seed: int) -> None:
    """A program says the same in DuckDB and on Spark, also that no world meets its hard clauses."""
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


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", [rules, sentences, *(kind for kind in (counted, witnessed, wide))])
def test_random_programs(kind: Any, spark: Spark) -> None:
    @times(KINDS[kind])
    @given(programs(kind=kind), st.integers(0, 9))
    def same(case: Case, seed: int) -> None:
        compare(spark, case, seed)

    same()


@pytest.mark.slow  # `test_spark_skew.py` holds salted queries against plain ones in DuckDB
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", [rules, counted, sentences])
def test_random_programs_with_salted_joins(kind: Any, spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of every table that is joined counts as heavy."""
    monkeypatch.setattr(skew, "SALTED_ROWS", 0)
    monkeypatch.setattr("sqlrl.engine.spark.engine.tasks_of", lambda plan: 10**9)

    @times(3)
    @given(programs(kind=kind), st.integers(0, 9))
    def same(case: Case, seed: int) -> None:
        compare(spark, case, seed)

    same()
