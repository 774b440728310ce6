"""Random soft models as plain lists, their networks, and oracles that read only the lists."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, minimize

from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.solve.hinge.sample_networks import hinge_network

Terms = dict[int, float]


@dataclass(frozen=True)
class Soft:
    """Rules as in `hinge_network`; hinges as rule, coefficients, constant, multiplicity."""

    atoms: int
    rules: list[str]
    hinges: list[tuple[int, Terms, float, int]]
    weights: list[float]

    @property
    def network(self) -> HingeNetwork:
        return hinge_network(self.atoms, self.rules, self.hinges)

    def rows(self, *, hard: bool) -> list[tuple[str, np.ndarray, float, float]]:
        """Rule text, dense coefficients, constant and cost of each hinge."""
        found = []
        for rule, terms, constant, times in self.hinges:
            text = self.rules[rule]
            if ("." in text) == hard:
                dense = np.zeros(self.atoms)
                for atom, value in terms.items():
                    dense[atom] += value
                found.append((text, dense, constant, self.weights[rule] * times))
        return found

    def cost(self, y: np.ndarray) -> float:
        """The objective, hinge by hinge."""
        total = 0.0
        for text, a, b, c in self.rows(hard=False):
            e = float(a @ y) + b
            e = abs(e) if "=" in text else max(e, 0.0)
            total += c * (e * e if "2" in text else e)
        return total

    def excess(self, y: np.ndarray) -> float:
        """By how much hard hinges are violated at most."""
        worst = 0.0
        for text, a, b, _ in self.rows(hard=True):
            e = float(a @ y) + b
            worst = max(worst, abs(e) if "=" in text else e)
        return worst


def feasible(soft: Soft, rows: list[int] | None = None) -> bool:
    """Whether hard hinges (those of these places in the list, by default all) can hold, by HiGHS."""
    above, low = [np.zeros(soft.atoms)], [0.0]
    hinges = range(len(soft.hinges)) if rows is None else rows
    for k in hinges:
        rule, terms, b, _ = soft.hinges[k]
        if "." not in soft.rules[rule]:
            continue
        a = np.zeros(soft.atoms)
        a[list(terms)] = list(terms.values())
        for sign in (1, -1) if "=" in soft.rules[rule] else (1,):
            above.append(sign * a)
            low.append(-sign * b)
    return linprog(np.zeros(soft.atoms), np.array(above), low, bounds=(0, 1), method="highs").status == 0


def best(soft: Soft) -> float:
    """The least objective: with a variable t >= |e|, or t >= e and t >= 0, for each soft hinge, by HiGHS or, with squares, by SLSQP."""
    n, weighted, hard = soft.atoms, soft.rows(hard=False), soft.rows(hard=True)
    m = len(weighted)
    above, low, equal, to = [np.zeros(n + m)], [0.0], [], []
    for k, (text, a, b, _) in enumerate(weighted):
        t = np.zeros(m)
        t[k] = -1.0
        for sign in (1, -1) if "=" in text else (1,):
            above.append(np.concatenate([sign * a, t]))
            low.append(-sign * b)
    for text, a, b, _ in hard:
        (equal if "=" in text else above).append(np.concatenate([a, np.zeros(m)]))
        (to if "=" in text else low).append(-b)
    cost = np.array([c for *_, c in weighted])
    power = np.array([2.0 if "2" in text else 1.0 for text, *_ in weighted])
    bounds = [(0.0, 1.0)] * n + [(0.0, None)] * m
    matrix, right = np.array(above), np.array(low)
    both = (np.array(equal), np.array(to)) if equal else (None, None)
    linear = linprog(np.concatenate([np.zeros(n), cost]), matrix, right, *both, bounds=bounds, method="highs")
    assert linear.status == 0
    if (power == 1).all():
        return float(linear.fun)
    constraints = [{"type": "ineq", "fun": lambda x: right - matrix @ x, "jac": lambda x: -matrix}]
    if equal:
        one, other = both
        constraints.append({"type": "eq", "fun": lambda x: one @ x - other, "jac": lambda x: one})
    found = minimize(
        lambda x: float(cost @ x[n:] ** power),
        linear.x,
        jac=lambda x: np.concatenate([np.zeros(n), cost * power * x[n:] ** (power - 1)]),
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    # What it says of itself is not asked: the point is held against our bound, and its cost is evaluated from the lists.
    y = np.clip(found.x[:n], 0, 1)
    return soft.cost(y) if soft.excess(y) < 1e-7 else np.inf


def best_of_clarabel(soft: Soft) -> tuple[float, np.ndarray]:
    """The least objective and its point by Clarabel's quadratic program: t = |e| or t = max(e, 0) for each soft hinge, t = e where an equality is squared."""
    n, weighted, hard = soft.atoms, soft.rows(hard=False), soft.rows(hard=True)
    m = len(weighted)
    # Rows of A x <= b, or A x = b of those that come first.
    equal = [(np.concatenate([a, np.zeros(m)]), -b) for text, a, b, _ in hard if "=" in text]
    above = [(np.concatenate([a, np.zeros(m)]), -b) for text, a, b, _ in hard if "=" not in text]
    above += [(sign * one, float(sign > 0)) for one in np.eye(n, n + m) for sign in (1, -1)]
    curve, slope = np.zeros(n + m), np.zeros(n + m)
    for k, (text, a, b, cost) in enumerate(weighted):
        t = np.eye(m)[k]
        if "2" in text:
            curve[n + k] = 2 * cost
        else:
            slope[n + k] = cost
        if "=" in text and "2" in text:
            equal.append((np.concatenate([a, -t]), -b))
            continue
        above.append((np.concatenate([a, -t]), -b))
        above.append((np.concatenate([-a, -t]), b) if "=" in text else (np.concatenate([np.zeros(n), -t]), 0.0))
    rows = [*equal, *above]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.diags(curve).tocsc(), slope, sparse.csc_matrix(np.array([a for a, _ in rows])), np.array([b for _, b in rows]),
        [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(above))], settings,
    )  # fmt: skip
    found = solver.solve()
    assert str(found.status) in ("Solved", "AlmostSolved"), found.status
    return float(found.obj_val), np.array(found.x[:n])


def random_soft(seed: int, atoms: int, hinges: int, rules: list[str], *, spread: float = 1.0) -> Soft:
    """Hinges of one to four atoms whose hard ones hold at a random point; coefficients, costs are within 10 to the power of plus or minus `spread`."""
    random = np.random.default_rng([seed, atoms, hinges])
    y = np.round(random.random(atoms) * (random.random(atoms) < 0.7), 3)
    found: list[tuple[int, Terms, float, int]] = []
    for _ in range(hinges):
        rule = int(random.integers(len(rules)))
        members = random.choice(atoms, min(atoms, int(random.integers(1, 5))), replace=False)
        size = random.choice([1.0, 10 ** random.uniform(-spread, spread)], len(members), p=[0.7, 0.3])
        terms = dict(zip(members.tolist(), (size * random.choice([-1.0, 1.0], len(members))).tolist(), strict=True))
        value = sum(terms[i] * y[i] for i in terms)
        if "." in rules[rule]:
            constant = -value - (0.0 if "=" in rules[rule] else float(random.choice([0.0, 0.2])))
        else:
            constant = float(random.uniform(-1, 1)) * sum(map(abs, terms.values()))
        found.append((rule, terms, constant, int(random.integers(1, 4))))
    found.sort(key=lambda hinge: hinge[0])
    return Soft(atoms, rules, found, (10 ** random.uniform(-spread, 0, len(rules))).tolist())


@st.composite
def softs(draw: st.DrawFn, rules: tuple[str, ...] = ("", "2", "=", "2=", ".", "=.")) -> Soft:
    """Small soft models of numbers that shrink well; hard hinges may be in conflict."""
    atoms = draw(st.integers(1, 4))
    kinds = draw(st.lists(st.sampled_from(rules), min_size=1, max_size=4))
    tenths = st.integers(-20, 20).map(lambda k: k / 10)
    hinge = st.tuples(
        st.integers(0, len(kinds) - 1),
        st.dictionaries(st.integers(0, atoms - 1), tenths.filter(bool), min_size=1, max_size=3),
        tenths,
        st.integers(1, 3),
    )
    found = draw(st.lists(hinge, max_size=7))
    weights = draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 5.0]), min_size=len(kinds), max_size=len(kinds)))
    return Soft(atoms, kinds, sorted(found, key=lambda h: h[0]), weights)


@st.composite
def larger_softs(draw: st.DrawFn) -> Soft:
    """Models of up to 25 atoms and 70 hinges of any kinds of rules, whose hard ones can hold."""
    kinds = draw(st.lists(st.sampled_from(["", "2", "=", "2=", ".", "=."]), min_size=1, max_size=6))
    return random_soft(
        draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 25)), draw(st.integers(1, 70)), kinds, spread=0.5
    )


@st.composite
def smooth_softs(draw: st.DrawFn) -> Soft:
    """Models of up to 25 atoms whose hinges are all squared and soft; with few of them many points are best."""
    kinds = draw(st.lists(st.sampled_from(["2", "2=", "2"]), min_size=1, max_size=4))
    return random_soft(
        draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 25)), draw(st.integers(1, 70)), kinds, spread=0.7
    )
