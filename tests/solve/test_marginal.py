"""Marginals: the battery of the design, exact methods against enumeration, samplers within their error bars, warnings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import InputError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.logic.mln import parse_mln
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.marginal import Method, marginals
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.sampling.belief import METHODS, MarginalResult
from sqlrl.solve.sampling.chains import Effort, SampleBatch
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.effort import draws
from tests.ground.brute import Data, Formulas, Ground
from tests.ground.cases import Names
from tests.solve.networks import EXTREME, Problem, problems
from tests.solve.samplers import problem_marginals


class Kept:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.batches: list[SampleBatch] = []

    def write(self, batch: SampleBatch) -> None:
        self.batches.append(batch)


def within(result: MarginalResult, expected: np.ndarray, errors: float = 4.0) -> bool:
    return bool(np.all(np.abs(result.probability - expected) <= np.maximum(errors * result.error, 1e-9)))


E2 = float(np.exp(2.0))

BATTERY = {
    "H(x) ^ S(x).": (1.0, 1.0),
    "H(x) v S(x).": (2 / 3, 2 / 3),
    "1 H(x)": (1 / (1 + float(np.exp(-1.0))), 0.5),
    "H(x) => S(x).": (1 / 3, 2 / 3),
    "2 H(x) ^ S(x)": ((E2 + 1) / (E2 + 3), (E2 + 1) / (E2 + 3)),
    "-2 H(x) v S(x)": (2 / (E2 + 3), 2 / (E2 + 3)),
}

FORMULAS = [
    "H(x) <=> S(x)",
    "H(x) ^ (S(x) v T(x))",
    "!(H(x) => S(x))",
    "EXIST y (H(y) ^ S(y))",
    "T(x) ^ (EXIST y (H(y) ^ S(y)))",
]


def check_methods(line: str, names: tuple[str, ...], constants: tuple[str, ...], expected: dict[Ground, float]) -> None:
    """Exact methods are exact, samplers within 4 standard errors; helper atoms follow the atoms that define them."""
    text = f"t = {{{', '.join(constants)}}}\n" + "".join(f"{p}(t)\n" for p in names) + line
    model = parse_mln(text, query=names)
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    program.expand()
    ground, weights = ground_network(Extent(program)), program.weights()
    atoms = Names(program.engine, program.layout).atoms()
    program.close()
    catalog.engine.close()
    shown = np.flatnonzero(~ground.helper)
    wanted = np.array([expected[atoms[i]] for i in ground.atoms[shown]])
    methods: list[Method] = ["auto", "exact", "mcsat", *(["gibbs"] if not ground.hard.any() else [])]  # type: ignore[list-item]
    for method in methods:
        result = marginals(ground, weights, method=method)
        if method in ("auto", "exact"):
            assert result.exact.all()
            assert result.probability[shown] == pytest.approx(wanted, abs=1e-9)
        else:
            assert np.all(np.abs(result.probability[shown] - wanted) <= 4 * result.error[shown] + 1e-12), method
            assert not result.warnings


@pytest.mark.parametrize("line", BATTERY)
def test_the_battery(line: str) -> None:
    h, s = BATTERY[line]
    check_methods(line, ("H", "S"), ("A",), {("H", "", ("A",)): h, ("S", "", ("A",)): s})


@pytest.mark.parametrize("weight", ["1.5", "-1.5", "hard"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_additions_to_the_battery(formula: str, weight: str) -> None:
    """Against enumeration of the formula itself, before any clause is made of it."""
    line = f"{formula}." if weight == "hard" else f"{weight} {formula}"
    names, constants = ("H", "S", "T"), ("A", "B")
    atoms: list[Ground] = [(p, "", (c,)) for p in names for c in constants]
    rule = parse_mln("t = {A, B}\nH(t)\nS(t)\nT(t)\n" + line, query=names).rules[0]
    predicates = dict.fromkeys(names, (("t",), False))
    data = Data("one", {"t": constants}, predicates, ("",), {}, frozenset(), frozenset(), dict.fromkeys(atoms))
    read = Formulas(rule.formula, data)
    mass = {}
    for bits in range(2 ** len(atoms)):
        world = frozenset(a for i, a in enumerate(atoms) if bits >> i & 1)
        n = read.n(world)
        if weight != "hard" or n == read.total():
            mass[world] = 1.0 if weight == "hard" else float(np.exp(float(weight) * n))
    expected = {a: sum(m for world, m in mass.items() if a in world) / sum(mass.values()) for a in atoms}
    check_methods(line, names, constants, expected)


@pytest.mark.slow
@settings(max_examples=draws(150))
@given(problem=problems(EXTREME, hardness=2))
def test_exact_methods_equal_enumeration(problem: Problem) -> None:
    weighted, expected = weigh(problem.network(), problem.weights), problem_marginals(problem)
    if expected is None:
        with pytest.raises(ConflictingClausesError):
            marginals(problem.network(), problem.weights)
        with pytest.raises(UnsatisfiableError):
            marginals(weighted)
        return
    for method in ("auto", "exact"):
        result = marginals(problem.network(), problem.weights, method=method)
        # Weights of 1e9 and 0.2 on one atom leave 7 digits of the small one.
        assert result.probability == pytest.approx(expected, abs=1e-9 + 4e-15 * float(problem.magnitude()))
        assert result.exact.all()
        assert not result.error.any()


def grid(side: int, seed: int, hard: bool) -> WeightedNetwork:
    """A grid of pairs, too wide for elimination, beside a free atom, a block without rows and a fixed atom."""
    rng = np.random.default_rng(seed)
    at = np.arange(1, side * side + 1).reshape(side, side)
    pairs = [
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
    ]
    ground = [(0, [-int(a), int(b)]) for a, b in pairs] + [(2 + k, [k + 1]) for k in range(side * side)]
    extra = side * side
    ground += [(1, [extra + 1]), (1, [extra + 4])]
    if hard:
        ground += [(extra + 2, [1, 2, side + 1])]
    blocks = [([extra + 1, extra + 2], True)]
    weights = [0.4, 0.7, *rng.normal(size=extra), 0.0]
    hards = [1, extra + 2] if hard else []
    return weigh(network(extra + 4, ground, clauses=extra + 3, hard=hards, blocks=blocks), weights)


@pytest.mark.parametrize("hard", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_auto_chooses_for_each_component(hard: bool) -> None:
    weighted = grid(25, 1, hard)
    result = marginals(weighted, samples=300)
    methods = [METHODS[code] for code in result.code]
    assert set(methods[:625]) == {"mcsat" if hard else "gibbs"}
    assert set(methods[625:]) == ({"fixed", "logistic"} if hard else {"logistic"})
    assert [c.method for c in result.choices][-1] == "logistic"
    assert result.probability[626:628] == pytest.approx(0.5)
    if hard:
        assert result.probability[[625, 628]].tolist() == [1.0, 1.0]
        other = marginals(weighted, method="mcsat", samples=300, seed=1)
    else:
        other = marginals(weighted, method="gibbs", samples=300, seed=1)
    assert np.all(np.abs(other.probability - result.probability) <= 5 * np.hypot(other.error, result.error) + 1e-12)
    with pytest.raises(InputError, match="beyond the bound for 1 of"):
        marginals(weighted, method="exact")


def log_sum(side: int, weighted: WeightedNetwork, true: int | None = None) -> float:
    """Log of the sum over the worlds of a grid, site after site; perhaps of those in which a site is true."""
    f, log_z, column = np.ones((2,) * side), 0.0, np.array([0.0, 1.0])
    for site in range(side * side):
        j = site % side
        f = np.moveaxis(f, j, -1)
        # A pair is violated if the site is false and the one above or to the left of it is true.
        above = np.exp(0.4 * (column[None, :] >= column[:, None])) if site >= side else np.ones((2, 2))
        own = np.exp(weighted.linear[site] * column) * ([0.0, 1.0] if site == true else [1.0, 1.0])
        f = np.moveaxis(f @ above * (own if site >= side else own / 2), -1, j)
        if j:
            pair = np.exp(0.4 * (column[None, :] >= column[:, None]))
            f *= pair.reshape([2 if k in (j - 1, j) else 1 for k in range(side)])
        log_z, f = log_z + float(np.log(f.sum())), f / f.sum()
    return log_z


@pytest.mark.slow
def test_few_components_may_have_larger_tables() -> None:
    """A grid of 14 x 14 against a transfer matrix. The tables of nine such grids would be too large together."""
    side = 14
    weighted = grid(side, 3, False)
    result = marginals(weighted, method="exact")
    total = log_sum(side, weighted)
    for site in (0, 13, 90, 105, 195):
        assert result.probability[site] == pytest.approx(np.exp(log_sum(side, weighted, site) - total), abs=1e-9)
    at = np.arange(1, 9 * side**2 + 1).reshape(9, side, side)
    across, down = (at[:, :, :-1], at[:, :, 1:]), (at[:, :-1], at[:, 1:])
    pairs = [(0, [-int(a), int(b)]) for x, y in (across, down) for a, b in zip(x.ravel(), y.ravel(), strict=True)]
    with pytest.raises(InputError, match="beyond the bound for 9 of 9 components"):
        marginals(network(at.size, pairs), [0.4], method="exact")


def test_gibbs_refuses_hard_clauses_that_leave_a_choice() -> None:
    """Those that fix an atom do no harm."""
    with pytest.raises(InputError, match="mcsat"):
        marginals(network(2, [(0, [1, 2])], hard=[0]), [0.0], method="gibbs")
    result = marginals(network(2, [(0, [1]), (1, [-1, 2])], hard=[0]), [0.0, 1.0], method="gibbs", samples=500)
    assert within(result, np.array([1.0, 1 / (1 + np.exp(-1.0))]))


@pytest.mark.parametrize("method", ["auto", "mcsat"])
def test_a_sink_gets_whole_worlds(method: Method) -> None:
    """Fixed atoms and exactly solved ones too, in joint samples; the exact probabilities stay exact."""
    ground = [(0, [1]), (1, [-2, 3]), (1, [-3, 2]), (2, [4])]
    source = network(6, ground, hard=[0, 1], blocks=[([4, 5], True)])
    kept = Kept()
    result = marginals(source, [0.0, 0.0, 1.0], method=method, samples=400, chains=2, sink=kept)
    worlds = np.concatenate([b.worlds for b in kept.batches])
    assert worlds.shape == (800, 6)
    assert worlds[:, 0].all()
    assert np.array_equal(worlds[:, 1], worlds[:, 2])
    assert np.all(worlds[:, 4] != worlds[:, 5])
    assert worlds.mean(axis=0) == pytest.approx(result.probability, abs=0.08)
    assert result.exact.all() == (method == "auto")
    assert within(result, np.array([1.0, 0.5, 0.5, 1 / (1 + np.exp(-1.0)), 0.5, 0.5]))
    last = [b for b in kept.batches if b.chain == 1][-1]
    assert last.mean[0] == 1.0


def test_logistic_form_of_the_thesis() -> None:
    """Clauses with one query atom each: as many atoms as you like, exactly."""
    problem = chains(3, length=5, states=4, exact=True)
    weights = np.random.default_rng(0).normal(size=len(problem.clauses))
    weights[:16] = 0.0  # no transitions
    result = marginals(problem, weights)
    assert [c.method for c in result.choices] == ["logistic"]
    linear = weigh(problem, weights).linear.reshape(-1, 4)
    expected = np.exp(linear) / np.exp(linear).sum(axis=1, keepdims=True)
    assert result.probability == pytest.approx(expected.ravel(), abs=1e-12)
    assert marginals(weigh(network(2, []), []), method="exact").probability.tolist() == [0.5, 0.5]


def test_huge_log_odds_do_not_overflow() -> None:
    result = marginals(network(4, [(0, [1]), (1, [2]), (0, [3])], blocks=[([2, 3], True)]), [1e300, -1e300])
    assert result.probability.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_warnings_where_chains_disagree_or_samples_are_few() -> None:
    """Attraction far above the critical point: each chain of single flips stays on one side."""
    side = 24
    at = np.arange(1, side * side + 1).reshape(side, side)
    pairs = [
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
    ]
    ground = [(0, [s * int(a), -s * int(b)]) for a, b in pairs for s in (1, -1)]
    stuck = marginals(network(side * side, ground), [2.5], method="gibbs", samples=400, burn_in=400)
    assert any("chains disagree" in text for text in stuck.warnings)
    assert "warning" in str(stuck)
    assert "warning" in repr(stuck)
    assert np.all(stuck.error > 0.01)
    few = marginals(network(2, [(0, [1, 2])]), [1.0], method="gibbs", samples=2)
    assert any("too few" in text for text in few.warnings)
    assert few.text(0) == "?"
    assert np.isnan(few.rounded).all()


def test_no_digit_beyond_the_error() -> None:
    ones = np.ones(5)
    errors = np.array([0.2, 0.03, 0.004, 0.0004, 0.0])
    result = MarginalResult(
        ones / 3, errors, ones, ones * 500, np.full(5, METHODS.index("gibbs"), np.int8), (), Effort(), 0.0
    )
    assert [result.text(k) for k in range(5)] == ["0.3", "0.33", "0.333", "0.3333", "0.333333"]
    assert result.rounded == pytest.approx([0.3, 0.33, 0.333, 0.3333, 0.333333])
    for k, decimals in enumerate(result.decimals.tolist()):
        assert decimals == 6 or 10.0**-decimals <= 2 * errors[k] <= 10.0 ** (1 - decimals)


@pytest.mark.parametrize(
    ("estimate", "error", "text"),
    [
        (0.528, 0.0098, "0.53"),
        (0.528, 0.0051, "0.53"),
        (0.5284, 0.00098, "0.528"),
        (0.477, 0.011, "0.48"),
        (0.961, 0.0155, "0.96"),
        (0.528, 0.0499, "0.53"),
        (0.528, 0.05, "0.5"),
        (0.528, 0.0151, "0.53"),
        (0.528, 0.0049, "0.528"),
        (0.528, 0.51, "?"),
        (0.528, np.inf, "?"),
    ],
)
def test_as_many_digits_as_the_error_supports(estimate: float, error: float, text: str) -> None:
    one = np.ones(1)
    code = np.full(1, METHODS.index("mcsat"), np.int8)
    result = MarginalResult(one * estimate, one * error, one, one * 500, code, (), Effort(), 0.0)
    assert result.text(0) == text
    assert str(result.rounded[0]) == ("nan" if text == "?" else text)


@given(st.floats(0, 1), st.floats(1e-9, 0.5))
def test_rounding_changes_an_estimate_by_no_more_than_its_error(estimate: float, error: float) -> None:
    one = np.ones(1)
    code = np.full(1, METHODS.index("gibbs"), np.int8)
    result = MarginalResult(one * estimate, one * error, one, one * 500, code, (), Effort(), 0.0)
    assert abs(result.rounded[0] - estimate) <= max(error, 0.5e-6) + 1e-9
    assert 10.0 ** (1 - result.decimals[0]) >= 2 * error


def test_no_atoms_and_bad_options() -> None:
    empty = marginals(network(0, []), [])
    assert len(empty.probability) == 0
    assert "atoms       0" in str(empty)
    small = network(1, [(0, [1])])
    with pytest.raises(InputError, match="unknown method 'bp'"):
        marginals(small, [1.0], method="bp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="weights"):
        marginals(small)
    with pytest.raises(InputError, match="weights"):
        marginals(weigh(small, [1.0]), [1.0])
    with pytest.raises(InputError, match="samples is 0"):
        marginals(small, [1.0], samples=0)
