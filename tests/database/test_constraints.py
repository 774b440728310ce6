"""What hard clauses cost, and training under some of them."""

from __future__ import annotations

import numpy as np
import pytest

import sqlrl
from sqlrl.database.constrained_training import ENFORCED, ConstrainedTraining
from sqlrl.errors import GroundingLimitError, InfeasibleTruthWarning, InputError, NotFittedError
from sqlrl.ground.factors import growth_exponent, is_inexpensive
from sqlrl.logic.printer import format_formula
from sqlrl.training.records import WindowProgress

LENGTHS = {"d0": 4, "d1": 8, "d2": 16, "d3": 6}
LONGEST = max(LENGTHS.values())
HEADER = """\
Word(doc, position, word)
Next(position, position)
Less(position, position)
Field(doc, kind, position)

Word(d, p, +w) => Field(d, +f, p)
Next(p, q) ^ Field(d, +f, p) => Field(d, +g, q)
"""
EXCLUSION = "Field(d, f, p) ^ f != g => !Field(d, g, p)."
NEXT = "Next(p, q) ^ Field(d, B, p) => !Field(d, A, q)."
BEFORE = "Less(p, q) ^ Field(d, A, q) => !Field(d, B, p)."
BETWEEN = "Less(p, q) ^ Less(q, r) ^ Field(d, +f, p) ^ Field(d, +f, r) => Field(d, +f, q)."
HARD = (EXCLUSION, NEXT, BEFORE, BETWEEN)


def connected(lengths: dict[str, int] | None = None, kinds: str = "AB") -> sqlrl.Database:
    """Documents whose first half is of one kind, the second of the other; words tell which, four times in five."""
    db = sqlrl.connect()
    lengths = lengths or LENGTHS
    random = np.random.default_rng(1)
    words = [
        (d, f"p{i}", f"{'ab'[(2 * i < n) ^ (random.random() < 0.2)]}{random.integers(3)}")
        for d, n in lengths.items()
        for i in range(n)
    ]
    fields = [(d, kinds[2 * i >= n], f"p{i}") for d, n in lengths.items() for i in range(n)]
    longest = max(lengths.values())
    db.load("Word", words, types=["doc", "position", "word"], example="doc")
    db.load("Next", [(f"p{i}", f"p{i + 1}") for i in range(longest - 1)], types=["position", "position"])
    pairs = [(f"p{i}", f"p{j}") for i in range(longest) for j in range(i + 1, longest)]
    db.load("Less", pairs, types=["position", "position"])
    db.load("Field", fields, types=["doc", "kind", "position"], example="doc", target=True)
    return db


def model(*hard: str) -> sqlrl.Model:
    return sqlrl.parse_mln(HEADER + "\n".join(hard or HARD))


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    return connected()


@pytest.fixture(scope="module")
def other() -> sqlrl.Database:
    return connected()


def hard_texts(found: sqlrl.Model) -> list[str]:
    return [format_formula(rule.formula) + "." for rule in found.rules if rule.hard]


def test_chains_are_cheap_and_pairs_and_triples_are_not(db: sqlrl.Database) -> None:
    costs = db.diagnose(model(), kind="costs")
    assert costs["rule"] == [2, 3, 4, 5, 5]
    assert costs["counted"] == ["block", "exact", "exact", "exact", "exact"]
    assert costs["inexpensive"] == [True, True, False, False, False]
    assert costs["degree"] == [0, 2, 2, 3, 3]
    n = np.array(list(LENGTHS.values()))
    assert costs["factors"] == [
        0, int((n - 1).sum()), int((n * (n - 1) // 2).sum()), *[int((n * (n - 1) * (n - 2) // 6).sum())] * 2
    ]  # fmt: skip
    assert costs["nodes"] == [2 * int(n.sum()), 2 * int((n - 1).sum()), 2 * int((n - 1).sum()), *[int(n.sum())] * 2]
    assert [costs["growth"][1], costs["growth"][2]] == [
        pytest.approx(np.polyfit(np.log(2 * (n - 1)), np.log(edges), 1)[0]) for edges in (2 * (n - 1), n * (n - 1))
    ]
    assert "hard clauses" in repr(costs)


def test_examples_are_chosen_and_each_counts_alone(db: sqlrl.Database) -> None:
    costs = db.diagnose(model(BEFORE), kind="costs", examples=["d1"])
    assert (costs["examples"], costs["factors"], costs["growth"]) == ([1], [28], [None])
    assert costs["inexpensive"] == [True]  # 28 factors of 14 nodes: as dense as a grid
    assert db.diagnose(model(BEFORE), kind="costs", examples=["d2"])["inexpensive"] == [False]
    assert db.diagnose(model(BEFORE), kind="costs", examples=["d2"], density=10)["inexpensive"] == [True]
    assert db.diagnose(model(BEFORE), kind="costs", growth=2.5)["inexpensive"] == [True]


def test_a_constraint_that_leaves_nothing_open_is_inexpensive(db: sqlrl.Database) -> None:
    costs = db.diagnose(model("Less(p, q) ^ Less(q, p) ^ Field(d, A, p) => Field(d, B, q)."), kind="costs")
    assert (costs["examples"], costs["factors"], costs["inexpensive"]) == ([0], [0], [True])


def test_a_model_without_hard_clauses_has_no_costs(db: sqlrl.Database) -> None:
    assert len(db.diagnose(sqlrl.parse_mln(HEADER), kind="costs")) == 0


def test_a_block_written_out_is_free_in_each_of_its_rules(db: sqlrl.Database) -> None:
    costs = db.diagnose(model("!Field(d, A, p) v !Field(d, B, p)."), kind="costs")
    assert (costs["counted"], costs["inexpensive"]) == (["block"], [True])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"growth": 0}, "growth=0 must be"), ({"density": float("nan")}, "density=nan"), ({"limit": -1}, "limit=-1")],
)
def test_bad_options_are_refused(db: sqlrl.Database, options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        db.diagnose(model(), kind="costs", **options)


def test_a_limit_names_the_clause(db: sqlrl.Database) -> None:
    rule = "Field(d, A, p) => (EXIST q (Less(p, q) ^ Field(d, B, q)))."
    with pytest.raises(GroundingLimitError, match="EXIST q"):
        db.diagnose(model(rule), kind="costs", limit=5)


def test_the_limit_of_training_is_that_of_counting_costs(db: sqlrl.Database) -> None:
    rules = model("Field(d, A, p) => (EXIST q (Less(p, q) ^ Field(d, B, q))).")
    with pytest.raises(GroundingLimitError, match="EXIST q") as counted:
        db.diagnose(rules, kind="costs", limit=5)
    with pytest.raises(GroundingLimitError) as trained:
        ConstrainedTraining(sqlrl.AdaGrad(), mode="sct").fit(db, rules, limit=5)
    assert str(trained.value) == str(counted.value)


@pytest.mark.slow
def test_costs_do_not_read_labels(db: sqlrl.Database) -> None:
    assert (
        connected(kinds="BA").diagnose(model(), kind="costs").to_arrow()
        == db.diagnose(model(), kind="costs").to_arrow()
    )


# ---- growth --------------------------------------------------------------------------------------------------


def test_the_exponent_is_that_of_a_straight_line_fitted_by_numpy() -> None:
    random = np.random.default_rng(0)
    nodes = random.integers(5, 80, 40)
    edges = random.integers(1, 500, 40)
    expected = np.polyfit(np.log(nodes), np.log(edges), 1)[0]
    assert growth_exponent(nodes, edges) == pytest.approx(expected)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_powers_are_found(power: int) -> None:
    n = np.array([3, 5, 9, 17])
    assert growth_exponent(n, 7 * n**power) == pytest.approx(power)
    assert is_inexpensive(n, n**power, n**power) == (power == 1)


def test_without_different_sizes_density_decides() -> None:
    assert growth_exponent([10, 19], [1, 2]) is None
    assert is_inexpensive([10, 10], [20, 20], [40, 40])
    assert not is_inexpensive([10, 10], [20, 21], [40, 42])


def test_numbers_that_are_not_positive_are_refused() -> None:
    with pytest.raises(InputError, match="positive"):
        growth_exponent([1, 0], [1, 1])


# ---- training ------------------------------------------------------------------------------------------------

TRAINING = {"none": [], "l+i": [], "ibt": [0, 1, 2, 3], "ibt-approx": [0, 1, 2, 3], "sct": [0, 1], "sct-": [0, 1]}
PREDICTION = {"none": [], "l+i": [0, 1, 2, 3], "ibt": [0, 1, 2, 3], "ibt-approx": [0, 1, 2, 3], "sct": [0, 1, 2, 3],
              "sct-": [0, 1]}  # fmt: skip


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=pytest.mark.slow) if mode in ("none", "ibt") else mode for mode in ENFORCED]
)
def test_each_mode_enforces_what_the_thesis_says(db: sqlrl.Database, other: sqlrl.Database, mode: str) -> None:
    fit = ConstrainedTraining(sqlrl.CDA(0.01), mode=mode).fit(db, model())  # type: ignore[arg-type]
    texts = hard_texts(model())
    assert hard_texts(fit.training_model_) == [texts[i] for i in TRAINING[mode]]
    assert hard_texts(fit.model_) == [texts[i] for i in PREDICTION[mode]]
    assert fit.learner_.get_params()["inference"] == ("relaxed" if mode == "ibt-approx" else "exact")
    assert (fit.costs_ is not None) == mode.startswith("sct")
    # The weights are those of the learner on the training model.
    alone = sqlrl.CDA(0.01, inference=fit.learner_.inference).fit(other, fit.training_model_)
    assert alone.weights_.tolist() == fit.learner_.weights_.tolist()
    scores = db.evaluate(db.predict(fit.model_))
    assert scores.f1 > 0.8
    assert set(fit.seconds_) == {"selecting", "grounding", "learning", "statistics"}


@pytest.mark.slow
def test_predictions_keep_the_hard_clauses() -> None:
    """The labels put B before A, which BEFORE forbids: with it in prediction no document does."""
    db = connected(kinds="BA")
    with pytest.warns(InfeasibleTruthWarning):
        fit = ConstrainedTraining(sqlrl.CDA(0.01), mode="ibt").fit(db, model())
    atoms = db.predict(fit.model_).atoms()
    places: dict[tuple[str, str], list[int]] = {}
    for row in atoms.to_pylist():
        places.setdefault((row["doc"], row["kind"]), []).append(int(row["position"][1:]))
    for doc in LENGTHS:
        last_a, first_b = max(places.get((doc, "A"), [-1])), min(places.get((doc, "B"), [99]))
        assert last_a < first_b


@pytest.mark.slow
def test_clauses_of_a_template_are_selected_one_by_one() -> None:
    db = connected({"d0": 4, "d1": 4})
    extra = [(f"p{i}", "A") for i in range(4)] + [("p0", "B")]
    db.load("Seen", extra, types=["position", "kind"])
    rule = "Less(p, q) ^ Seen(p, +f) ^ Field(d, +f, p) => !Field(d, +f, q)."
    text = HEADER.replace("\n\n", "\nSeen(position, kind)\n\n") + rule
    fit = ConstrainedTraining(sqlrl.AdaGrad(), density=1.0).fit(db, sqlrl.parse_mln(text))
    assert fit.costs_ is not None
    assert fit.costs_["factors"] == [12, 6]
    assert fit.costs_["inexpensive"] == [False, True]
    assert hard_texts(fit.training_model_) == ["Less(p, q) ^ Seen(p, B) ^ Field(d, B, p) => !Field(d, B, q)."]
    assert hard_texts(fit.model_) == [rule]


def test_only_the_training_examples_decide(db: sqlrl.Database) -> None:
    fit = ConstrainedTraining(sqlrl.AdaGrad()).fit(db, model(BEFORE), examples=["d0"])
    assert fit.costs_ is not None
    assert fit.costs_["examples"] == [1]


def test_it_shows_what_it_did(db: sqlrl.Database) -> None:
    training = ConstrainedTraining(sqlrl.CDA(0.01), mode="sct", growth=1.2)
    assert repr(training) == "ConstrainedTraining(CDA(strength=0.01), mode='sct', growth=1.2)"
    assert training._repr_html_().startswith("<pre>")
    with pytest.raises(NotFittedError, match="no model_ yet"):
        _ = training.model_
    training.fit(db, model(EXCLUSION, NEXT))
    assert "inexpensive 2 of 2 hard clauses" in repr(training)
    assert "under 2 hard rules" in training._repr_html_()
    assert training.model is training.model_


@pytest.mark.parametrize(
    ("training", "message"),
    [
        (ConstrainedTraining(sqlrl.CDA(), mode="both"), "mode='both': choose 'none'"),  # type: ignore[arg-type]
        (ConstrainedTraining("CDA"), "learner must be an estimator"),  # type: ignore[arg-type]
        (ConstrainedTraining(sqlrl.CDA), "call it, as in CDA"),  # type: ignore[arg-type]
        (ConstrainedTraining(sqlrl.CDA(), growth=-1), "growth=-1"),
    ],
)
def test_bad_parameters_are_refused(db: sqlrl.Database, training: ConstrainedTraining, message: str) -> None:
    with pytest.raises(InputError, match=message):
        training.fit(db, model())


def test_options_are_passed_on_to_the_learner(db: sqlrl.Database) -> None:
    training = ConstrainedTraining(sqlrl.CDA(0.01, window=2), mode="ibt")

    def stop(progress: WindowProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.fit(db, model(NEXT), checkpoint=True, callback=stop)
    ((run,),) = db.sql("select max(run) from sqlrl.run").fetchall()
    resumed = training.fit(db, model(NEXT), resume=run)
    assert resumed.learner_.run_ == run
    assert resumed.learner_.weights_.tobytes() == training.fit(db, model(NEXT)).learner_.weights_.tobytes()
    with pytest.raises(
        InputError, match="groups= is no option of the fit of CDA: it takes callback, checkpoint, resume"
    ):
        training.fit(db, model(NEXT), groups=print)
    batch = ConstrainedTraining(sqlrl.MaxMargin(max_iterations=2), mode="none")
    with pytest.warns(sqlrl.errors.ConvergenceWarning):
        assert len(batch.fit(db, model(NEXT), callback=lambda _: None).learner_.iterations_) == 2


def test_approximate_training_needs_a_learner_that_has_it(db: sqlrl.Database) -> None:
    class Plain:
        def get_params(self) -> dict[str, object]:
            return {}

        def fit(self, *arguments: object) -> None:
            raise AssertionError

    with pytest.raises(
        InputError, match=r"must be an estimator of weights such as sqlrl.CDA\(\), not an object of type ILP"
    ):
        ConstrainedTraining(sqlrl.ILP()).fit(db, model())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a learner with inference='relaxed'"):
        ConstrainedTraining(Plain(), mode="ibt-approx").fit(db, model())  # type: ignore[arg-type]
