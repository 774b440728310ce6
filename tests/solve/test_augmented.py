"""Loss-augmented worlds against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.solve.augmented import Loss, augmented_mpe
from sqlrl.solve.choose import Method
from tests.solve.networks import ORDINARY, Problem, problems, worlds


@given(
    problems(ORDINARY, hardness=2),
    st.sampled_from(["hamming", "zero_one"]),
    st.sampled_from(["auto", "cpsat"]),
    st.data(),
)
def test_no_world_scores_more_with_its_loss(problem: Problem, loss: Loss, method: Method, data: st.DataObject) -> None:
    allowed = list(worlds(problem))
    assume(bool(allowed))
    best = max(allowed, key=problem.score)
    every = st.tuples(*[st.booleans()] * problem.atoms)
    observed = data.draw(st.one_of(st.just(best), st.sampled_from(allowed), every))

    def augmented(world: tuple[bool, ...]) -> float:
        wrong = sum(a != b for a, b in zip(world, observed, strict=True))
        return float(problem.score(world)) + (wrong if loss == "hamming" else min(wrong, 1))

    seen = np.array(observed, dtype=np.bool_)
    result = augmented_mpe(problem.network(), problem.weights, seen, loss=loss, method=method)
    expected = max(map(augmented, allowed))
    found = augmented(tuple(result.world.tolist()))
    assert tuple(result.world.tolist()) in allowed
    assert result.objective == pytest.approx(found, abs=1e-5)
    assert expected <= found + result.gap + 1e-9
    assert result.gap < 1e-4


def test_what_is_wrong_is_named() -> None:
    problem = Problem(2, [(0, [1, 2], 1)], [1.0])
    with pytest.raises(InputError, match="shape"):
        augmented_mpe(problem.network(), [1.0], np.array([True]))
    with pytest.raises(InputError, match="'hinge'"):
        augmented_mpe(problem.network(), [1.0], np.array([True, True]), loss="hinge")  # type: ignore[arg-type]
