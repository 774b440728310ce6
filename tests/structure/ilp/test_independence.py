"""Tests of what the test of clauses takes for independent: labels that are alike within constants, groups that are given, and labels that are too few."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import sqlrl
from sqlrl.errors import InputError, LabelWarning, NothingFoundWarning, ValidationWarning
from sqlrl.structure.ilp.chance import LabelSplit, Trial, divided

RANK: dict[str, Any] = {"command": "rank", "nodes": 300}
SITES = ("quay", "hill", "dale", "moor")
MAKERS = "PQRSTU"


def fitted(db: sqlrl.Database, target: str, *ignored: type[Warning], groups: object = None, **given: Any) -> sqlrl.ILP:
    """Fit without the warnings that a test is not about."""
    with warnings.catch_warnings():
        for each in (NothingFoundWarning, sqlrl.errors.LittleFoundWarning, *ignored):
            warnings.simplefilter("ignore", each)
        return sqlrl.ILP(**{**RANK, **given}).fit(db, target, groups=groups)


# ---- worlds in which labels are those of machines, not of their faults ---------------------------------------------


def machines(
    seed: int, link: str = "backward", *, count: int = 50, size: int = 12, cause: bool = False
) -> sqlrl.Database:
    """Load tickets of machines: all of a machine are urgent or none is, for no reason, or mostly at one site, `cause`."""
    draw = random.Random(seed)
    names = [f"m{k:03}" for k in range(count)]
    tickets = [(f"t{k:03}_{name}", name) for name in names for k in range(size)]
    site = {name: draw.choice(SITES) for name in names}
    share = {name: (0.95 if site[name] == "quay" else 0.05) if cause else 0.4 for name in names}
    urgent = {name: draw.random() < share[name] for name in names}
    db = sqlrl.connect(progress=False)
    if link == "backward":
        db.load("Had", [(m, t) for t, m in tickets], types=["machine", "ticket"])
    elif link == "wide":
        db.load("Ticket", [(t, f"d{draw.randrange(90)}", m) for t, m in tickets], types=["ticket", "day", "machine"])
    elif link == "chain":
        db.load("Job", [(t, f"j{t}") for t, _ in tickets], types=["ticket", "job"])
        db.load("At", [(f"j{t}", m) for t, m in tickets], types=["job", "machine"])
    db.load("Site", [(m, site[m]) for m in names], types=["machine", "site"])
    db.load("Maker", [(m, draw.choice(MAKERS)) for m in names], types=["machine", "maker"])
    db.load("Said", [(t, draw.choice(("mail", "call"))) for t, _ in tickets], types=["ticket", "channel"])
    db.load("Urgent", [(t,) for t, m in tickets if urgent[m]], types=["ticket"], target=True)
    return db


@pytest.mark.parametrize(
    ("link", "unit", "depth"),
    [
        ("backward", "machine in Had(machine, ticket)", 2),
        # Each case searches several data sets.
        pytest.param("wide", "machine in Ticket(ticket, day, machine)", 2, marks=pytest.mark.slow),
        pytest.param("chain", "machine in At(job, machine)", 3, marks=pytest.mark.slow),
    ],
)
def test_rules_about_what_few_constants_have_in_common_are_chance(link: str, unit: str, depth: int) -> None:
    """Takes more than a second: two searches."""
    db = machines(11, link)
    given = {"depth": depth, "clause_length": depth + 2}
    assert len(fitted(db, "Urgent", test_units="atoms", **given).theory_) > 0
    fit = fitted(db, "Urgent", **given)
    assert (len(fit.theory_), fit.test_unit_) == (0, unit)
    assert f"labels of one {unit} count together" in str(fit)


def test_a_rule_about_many_constants_is_found() -> None:
    """Takes more than a second: a search."""
    fit = fitted(machines(4, count=150, size=6, cause=True), "Urgent")
    assert fit.theory_["clause"].to_pylist() == ['(EXIST m Had(m, t) ^ Site(m, "quay")) => Urgent(t)']


def test_labels_that_are_independent_count_one_by_one() -> None:
    """Takes more than a second: a search."""
    draw = random.Random(5)
    db = machines(5)
    db.load("Odd", [(f"t{k:03}_m{m:03}",) for k in range(12) for m in range(50) if draw.random() < 0.3], types=["ticket"], target=True)  # fmt: skip
    assert fitted(db, "Odd").test_unit_ == "atom"


@pytest.mark.slow
def test_clustered_labels_that_say_nothing_have_rules_in_few_runs() -> None:
    """Forty searches; with each atom alone, nearly all find rules."""
    found = sum(
        len(fitted(machines(seed, ("backward", "wide")[seed % 2]), "Urgent").theory_) > 0 for seed in range(100, 140)
    )
    # At a significance of 0.01 the chance of more than three is 1 in 1000.
    assert found <= 3


# ---- within which constants labels are alike --------------------------------------------------------------------------


def spread(pairs: Sequence[tuple[str, bool]]) -> float:
    """Return the statistic of Tarone (1979) for constants and labels of atoms, as he writes it."""
    sizes: dict[str, list[int]] = {}
    for name, label in pairs:
        n, k = sizes.get(name, [0, 0])
        sizes[name] = [n + 1, k + label]
    total, p = len(pairs), sum(label for _, label in pairs) / len(pairs)
    s = sum((k - n * p) ** 2 for n, k in sizes.values()) / (p * (1 - p))
    return (s - total) / math.sqrt(2 * sum(n * (n - 1) for n, _ in sizes.values()))


@given(st.integers(0, 10**6), st.floats(0, 0.4), st.integers(3, 12))
@settings(deadline=None, max_examples=12)
def test_labels_are_alike_as_tarone_says(seed: int, depends: float, count: int) -> None:
    draw = random.Random(seed)
    owner = {f"t{k}": f"m{draw.randrange(count)}" for k in range(60)}
    urgent = {m: draw.random() < 0.5 for m in owner.values()}
    label = {t: urgent[m] if draw.random() < depends else draw.random() < 0.5 for t, m in owner.items()}
    db = sqlrl.connect(progress=False)
    db.load("Of", list(owner.items()), types=["ticket", "machine"])
    db.load("Big", [(m,) for m in sorted(set(owner.values()))], types=["machine"])
    db.load("Urgent", [(t,) for t in owner if label[t]], types=["ticket"], target=True)
    bias = sqlrl.parse_bias(
        "modeh(1, 'Urgent'(+ticket)). modeb(1, 'Of'(+ticket, -machine)). modeb(1, 'Big'(+machine))."
    )
    with db.advanced.learning.induction("Urgent", bias) as session:
        found = session.source.alike_within(2)
        wanted = spread([(owner[t], label[t]) for t in owner])
        if abs(wanted - 2.3) > 1e-6:
            assert [(each.type, each.nameable, each.own) for each in found] == [("machine", False, False)] * (
                wanted > 2.3
            )
        if found:
            unit = session.source.clustered(found[0])
            texts = session.atom_texts(session.source.atoms.tolist())
            owners = [owner[texts[atom][len("Urgent(") : -1]] for atom in session.source.atoms.tolist()]
            assert len(set(zip(unit.tolist(), owners, strict=True))) == len(set(owners)) == len(set(unit.tolist()))


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ("modeb(1, 'Of'(+t, -m)). modeb(1, 'Big'(+m)).", [("m", False)]),
        ("modeb(*, 'Of'(-t, +m)). modeb(1, 'Of'(+t, -m)).", [("m", False)]),
        # A plain value: nothing goes on from it.
        ("modeb(1, 'Of'(+t, -m)).", []),
        # One that bodies may name.
        ("modeb(1, 'Of'(+t, #m)). modeb(1, 'Of'(+t, -m)). modeb(1, 'Big'(+m)).", [("m", True)]),
        # A ticket has several of these.
        ("modeb(*, 'Seen'(+t, -m)). modeb(1, 'Big'(+m)).", []),
    ],
)  # fmt: skip
def test_constants_count_that_a_fact_links_without_another_choice(modes: str, expected: list[tuple[str, bool]]) -> None:
    db = sqlrl.connect(progress=False)
    tickets = [(f"t{k}", f"m{k % 6}") for k in range(60)]
    db.load("Of", tickets, types=["t", "m"])
    db.load("Seen", [*tickets, ("t0", "m1")], types=["t", "m"])
    db.load("Big", [("m1",)], types=["m"])
    db.load("Urgent", [(t,) for t, m in tickets if m < "m3"], types=["t"], target=True)
    bias = sqlrl.parse_bias(f"modeh(1, 'Urgent'(+t)). {modes}")
    with db.advanced.learning.induction("Urgent", bias) as session:
        assert [(each.type, each.nameable) for each in session.source.alike_within(2)] == expected


# ---- the p-value ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "covered", "positive", "both"), [(20, 5, 5, 5), (20, 5, 6, 5), (40, 10, 10, 9), (60, 12, 20, 10)]
)
def test_units_that_agree_count_about_as_one_atom_each(units: int, covered: int, positive: int, both: int) -> None:
    cover = np.arange(units) < covered
    label = np.arange(units) < both
    label[covered : covered + positive - both] = True
    exact = hypergeom.sf(both - 1, units, positive, covered)
    unit = np.repeat(np.arange(units), 9)
    division = LabelSplit(np.ones(len(unit), dtype=bool), np.zeros(len(unit), dtype=np.int64), unit)
    found = Trial(division, label[unit], 1, 0.01).p_value(cover[unit])
    assert exact / 1.5 < found < 12 * exact


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.booleans()), min_size=6, max_size=7))
@settings(deadline=None, max_examples=25)
def test_a_p_value_of_units_is_near_that_of_their_permutations(rows: list[tuple[int, int, bool]]) -> None:
    """Takes more than a second: thousands of permutations each."""
    sizes = np.array([n for n, _, _ in rows])
    positive, cover = np.array([min(k, n) for n, k, _ in rows]), np.array([c for _, _, c in rows])
    unit = np.repeat(np.arange(len(rows)), sizes)
    label = np.concatenate([np.arange(n) < k for n, k in zip(sizes, positive, strict=True)])
    rate = positive / sizes - label.mean()
    much = sizes * (cover - cover[unit].mean())
    sums = np.array([(much * rate[list(order)]).sum() for order in permutations(range(len(rows)))])
    share = float((sums >= (much * rate).sum() - 1e-9).mean())
    division = LabelSplit(np.ones(len(unit), dtype=bool), np.zeros(len(unit), dtype=np.int64), unit)
    found = Trial(division, label, 1, 0.01).p_value(cover[unit])
    # Twice the lesser of two p-values, and never less than that of atoms.
    assert found > 0.5 * share - 0.02


@pytest.mark.parametrize("size", ["equal", "few", "many"])
@pytest.mark.parametrize("covers", ["units", "atoms", "both"])
def test_labels_of_units_that_say_nothing_are_seldom_significant(size: str, covers: str) -> None:
    draw = np.random.default_rng(7)
    below = 0
    for _ in range(300):
        sizes = {
            "equal": np.full(24, 10),
            "few": draw.integers(1, 4, 24),
            "many": np.minimum(draw.pareto(0.9, 24) * 3 + 1, 150).astype(int),
        }[size]
        unit = np.repeat(np.arange(24), sizes)
        share = {
            "units": (draw.random(24) < 0.25)[unit],
            "atoms": np.full(len(unit), 0.3),
            "both": draw.beta(0.5, 1, 24)[unit],
        }[covers]
        cover, label = draw.random(len(unit)) < share, draw.random(len(unit)) < draw.beta(0.4, 0.6, 24)[unit]
        division = LabelSplit(np.ones(len(unit), dtype=bool), np.zeros(len(unit), dtype=np.int64), unit)
        below += Trial(division, label, 1, 0.05).p_value(cover) <= 0.05
    # 15 are expected at the most, with a deviation of 4.
    assert below <= 27


def test_few_units_are_compared_within() -> None:
    unit = np.repeat(np.arange(30), 10)
    label = (np.random.default_rng(8).random(30) < 0.5)[unit]
    division = divided(label, np.zeros(300, dtype=np.int64), 0.5, 0, unit)
    assert Trial(division, label, 1, 0.01).p_value(label) == 1.0


# ---- groups that are given ------------------------------------------------------------------------------------------


def grouped(db: sqlrl.Database) -> list[tuple[str, str]]:
    """Return the machine of each ticket, which its name ends with."""
    return [(f"t{k:03}_m{m:03}", f"m{m:03}") for k in range(12) for m in range(50)]


def test_groups_count_together_in_python_and_in_scripts() -> None:
    """Takes more than a second: four searches."""
    db = machines(21, "wide")
    own = [(t, t) for t, _ in grouped(db)]
    by_atom = fitted(db, "Urgent", test_units="atoms")
    assert fitted(db, "Urgent", groups=own).candidates_.equals(by_atom.candidates_)
    assert len(by_atom.theory_) > 0
    fit = fitted(db, "Urgent", groups=grouped(db), test_units="atoms")
    assert (len(fit.theory_), fit.test_unit_) == (0, "group of groups=")
    query = "select name, right(name, 4) from sqlrl.dictionary_ticket"
    with pytest.warns(NothingFoundWarning):
        db.run(
            f"CREATE MODEL none OPTIONS (learner = 'ilp', target = 'Urgent', command = 'rank', nodes = 300, groups = $${query}$$)"
        )
    recorded = (
        "select parameters ->> 'test_unit', parameters ->> 'test_unit_crc' from sqlrl.run order by run desc limit 2"
    )
    first, second = db.sql(recorded).fetchall()
    assert first == second


@pytest.mark.parametrize(
    ("groups", "given", "message"),
    [
        ([("t000_m000", "a")], {}, r"groups= says nothing of 599 atoms of 600 to learn from, the first of them Urgent\("),
        ([("t000_m000",)], {}, r"groups= takes 2 columns"),
        ([("t000_m000", None)], {}, r"groups= has NULL in 1 row"),
        ("one", {}, r"groups= joins all atoms"),
        ("machine", {"significance": 1}, r"groups= says which atoms count together when clauses are tested, and significance=1 tests none"),
        ("machine", {"noise": 3}, r"significance=1\.?0? tests none"),
    ],
)  # fmt: skip
def test_groups_that_divide_nothing_are_refused(groups: Any, given: dict[str, Any], message: str) -> None:
    db = machines(1)
    rows = {"one": [(t, "all") for t, _ in grouped(db)], "machine": grouped(db)}
    with pytest.raises(InputError, match=message):
        sqlrl.ILP(**given).fit(db, "Urgent", groups=rows[groups] if isinstance(groups, str) else groups)


def test_groups_that_share_an_atom_are_one() -> None:
    db = machines(2)
    bias = sqlrl.Bias.derive(db, "Urgent")
    rows = grouped(db)
    joined = [*rows, ("t000_m000", "m001")]
    with db.advanced.learning.induction("Urgent", bias) as session:
        assert len(set(session.source.grouped(rows).tolist())) == 50
        assert len(set(session.source.grouped(joined).tolist())) == 49


def test_a_run_goes_on_with_the_groups_that_it_began_with() -> None:
    """Takes more than a second: parts of three searches."""
    db = machines(3)

    def stop(report: Any) -> None:
        if report.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.ILP(**RANK).fit(db, "Urgent", groups=grouped(db), checkpoint=True, callback=stop)
    for other in (None, [(t, m[:3]) for t, m in grouped(db)]):
        with pytest.raises(InputError, match="test_unit"):
            sqlrl.ILP(**RANK).fit(db, "Urgent", groups=other, resume=1)


@pytest.mark.slow  # It searches three times.
def test_a_run_that_began_when_each_atom_counted_alone_goes_on_so() -> None:
    """Takes more than a second: two searches. What such a run keeps is what an earlier version kept."""
    db = machines(3)

    def stop(report: Any) -> None:
        if report.done == 2:
            raise KeyboardInterrupt

    whole = fitted(db, "Urgent", test_units="atoms")
    with pytest.raises(KeyboardInterrupt):
        sqlrl.ILP(**RANK, test_units="atoms").fit(db, "Urgent", checkpoint=True, callback=stop)
    ((kept,),) = db.sql("select parameters from sqlrl.run where run = 2").fetchall()
    assert "test_unit" not in kept
    again = sqlrl.ILP(**RANK).fit(db, "Urgent", resume=2)
    assert (again.candidates_.equals(whole.candidates_), again.test_unit_) == (True, "atom")


@pytest.mark.parametrize(("strength", "passed"), [([0.1, 10.0], True), (1.0, False)])
def test_a_learner_that_chooses_a_strength_holds_the_same_groups_out(
    strength: Any, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Takes more than a second: a search."""
    seen: list[dict[str, Any]] = []
    original = sqlrl.Likelihood.fit

    def fit(self: Any, *arguments: Any, groups: Any = None, **given: Any) -> Any:
        seen.append({"groups": groups})
        return original(self, *arguments, groups=groups, **given)

    monkeypatch.setattr(sqlrl.Likelihood, "fit", fit)
    rows = grouped(machines(1))
    fitted(machines(4, cause=True), "Urgent", groups=rows, then=sqlrl.Likelihood("l2", strength=strength, folds=3))
    assert seen == [{"groups": rows if passed else None}]


# ---- what the test does not see ----------------------------------------------------------------------------------------


def relation(draw: random.Random) -> tuple[sqlrl.Database, str]:
    """Load who likes what: some like nearly all, for no reason."""
    db = sqlrl.connect(progress=False)
    people, films = [f"u{k:02}" for k in range(45)], [f"f{k:02}" for k in range(24)]
    fond = {each: draw.random() ** 2 for each in people}
    db.load("Age", [(each, draw.choice("abcd")) for each in people], types=["user", "age"])
    db.load("City", [(each, draw.choice("vwxyz")) for each in people], types=["user", "city"])
    db.load(
        "Likes", [(u, f) for u in people for f in films if draw.random() < fond[u]], types=["user", "film"], target=True
    )
    return db, r"labels of Likes are alike within each user in Likes\(user, film\), argument 1: .*groups= says which"


def shops(draw: random.Random) -> tuple[sqlrl.Database, str]:
    """Load orders of a dozen shops, few enough to be named, half of which are late with all."""
    db = sqlrl.connect(progress=False)
    names = [f"s{k:02}" for k in range(12)]
    orders = [(f"o{k:03}_{name}", name) for name in names for k in range(40)]
    late = set(names[::2])
    db.load("From", orders, types=["order", "shop"])
    db.load(
        "Town",
        [(name, "north" if name in names[:10:2] else "south") for name in names],
        types=["shop", "town"],
    )
    db.load("Late", [(o,) for o, s in orders if s in late], types=["order"], target=True)
    return db, r"labels of Late are alike within each shop in From\(order, shop\): "


@pytest.mark.parametrize("world", [relation, shops])
def test_other_constants_within_which_labels_are_alike_are_named(
    world: Callable[[random.Random], tuple[sqlrl.Database, str]],
) -> None:
    """Takes more than a second: a search."""
    db, message = world(random.Random(1))
    target = "Likes" if world is relation else "Late"
    modes = None if world is relation else sqlrl.parse_bias(
        "modeh(1, 'Late'(+order)). modeb(1, 'From'(+order, -shop)). modeb(1, 'From'(+order, #shop)). modeb(1, 'Town'(+shop, #town))."
    )  # fmt: skip
    with pytest.warns(LabelWarning, match=message):
        fit = fitted(db, target, bias=modes, clause_length=3)
    assert len(fit.theory_) > 0


# ---- labels that are too few ------------------------------------------------------------------------------------------


def few(positives: int, negatives: int) -> sqlrl.Database:
    """Load things of which some are liked, all of these red."""
    db = sqlrl.connect(progress=False)
    names = [f"x{k:03}" for k in range(positives + negatives)]
    db.load("Colour", [(x, "red" if k < positives else "blue") for k, x in enumerate(names)], types=["thing", "colour"])
    db.load("Liked", [(x,) for x in names[:positives]], types=["thing"], target=True)
    return db


@pytest.mark.parametrize(
    ("positives", "negatives", "given", "message"),
    [
        (19, 60, {"command": "rank"}, "Liked has 19 positive atoms, and fewer than 20 are too few to hold labels out: the clause that was found has not been tested"),
        (40, 12, {"command": "induce_cover"}, "Liked has 12 negative atoms, and fewer than 20"),
        (5, 9, {}, "Liked has 5 positive atoms"),
        (20, 60, {"command": "rank"}, None),
        (19, 60, {"command": "rank", "significance": 1}, None),
        (5, 9, {"noise": 0}, None),
        (5, 9, {"keep_above": 0.5}, None),
    ],
)  # fmt: skip
def test_clauses_that_were_not_tested_are_warned_of(
    positives: int, negatives: int, given: dict[str, Any], message: str | None
) -> None:
    db = few(positives, negatives)
    learner = sqlrl.ILP(**{"min_lift": 1.1, **given})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = learner.fit(db, "Liked")
    assert len(fit.theory_) == 1
    said = [str(each.message) for each in caught if each.category is ValidationWarning]
    assert [message in text for text in said if message] == [True] * (message is not None)
    assert bool(said) == (message is not None)
