"""CREATE MODEL: every learner learns from a script what it learns in Python, and says what is wrong where it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl import Database, Model
from sqlrl.errors import InputError, ScriptError
from sqlrl.learn.parameters import REQUIRED, declarations
from sqlrl.script.learning import learners
from tests.script.conftest import RULES

PLAIN = RULES.replace("\n0.75 Link(x, y) ^ Liked(x) => Liked(y)", "")
MODES = "modeP(2, Word(-,#))\nmodeP(1, Link(-,-))\nmodeP(2, Liked(-))\n"
TEMPLATES = "NEAR(x, y) = {Friends}\nNEAR(x, y) ^ Smokes(x) ^ Smokes(y)\n"
SOFT = "1: Link(X, Y) & Liked(X) -> Liked(Y)\n0.5: !Liked(X) ^2\n"

Fit = Callable[[Database, Model], Any]
LEARNED: dict[str, tuple[str, Fit]] = {
    "adagrad": ("learning_rate = 0.5, strength = 0.01", lambda db, m: sqlrl.AdaGrad(learning_rate=0.5, strength=0.01).fit(db, m)),
    "cd": ("counts = 'gibbs', random_state = 3", lambda db, m: sqlrl.baselines.ContrastiveDivergence(counts="gibbs", random_state=3).fit(db, m)),
    "cda": ("strength = 0.01", lambda db, m: sqlrl.CDA(0.01).fit(db, m)),
    "mira": ("", lambda db, m: sqlrl.baselines.MIRA().fit(db, m)),
    "perceptron": ("passes = 2", lambda db, m: sqlrl.baselines.Perceptron(passes=2).fit(db, m)),
    "subgradient": ("strength = 0.1", lambda db, m: sqlrl.baselines.Subgradient(strength=0.1).fit(db, m)),
    "max-margin": ("strength = 0.5", lambda db, m: sqlrl.MaxMargin(strength=0.5).fit(db, m)),
    "pscg": ("max_iterations = 3, samples = 4", lambda db, m: sqlrl.PSCG(max_iterations=3, samples=4).fit(db, m)),
    "voted-perceptron": ("max_iterations = 2", lambda db, m: sqlrl.baselines.VotedPerceptron(max_iterations=2).fit(db, m)),
    "pseudo-likelihood": ("strength = 0.01", lambda db, m: sqlrl.PseudoLikelihood(strength=0.01).fit(db, m)),
    "likelihood": ("strength = [0.1, 1], folds = 2", lambda db, _: sqlrl.Likelihood(strength=[0.1, 1], folds=2).fit(db, sqlrl.parse_mln(PLAIN))),
    "msl": ("max_literals = 2", lambda db, m: sqlrl.MSL(max_literals=2).fit(db, m)),
    "transfer": ("max_literals = 2", lambda db, m: sqlrl.Transfer(max_literals=2).fit(db, m)),
    "osl": (f"modes = $x${MODES}$x$, max_length = 3", lambda db, m: sqlrl.OSL(modes=sqlrl.parse_modes(MODES), max_length=3).fit(db, m)),
    "ilp": ("target = 'Liked', keep_above = 0.1", lambda db, _: sqlrl.ILP(keep_above=0.1).fit(db, "Liked")),
}  # fmt: skip
THEN = {
    "osl": (f"modes = $x${MODES}$x$, max_length = 2", lambda then: sqlrl.OSL(modes=sqlrl.parse_modes(MODES), max_length=2, then=then)),
    "ilp": ("target = 'Liked', keep_above = 0.1", lambda then: sqlrl.ILP(keep_above=0.1, then=then)),
    "msl": ("max_literals = 2", lambda then: sqlrl.MSL(max_literals=2, then=then)),
}  # fmt: skip
SOFTLY: dict[str, Callable[[], Any]] = {
    "soft-pseudo-likelihood": sqlrl.SoftPseudoLikelihood,
    "soft-piecewise-likelihood": sqlrl.SoftPiecewiseLikelihood,
    "soft-map-likelihood": sqlrl.SoftMapLikelihood,
    "soft-structure": sqlrl.SoftStructure,
}


@pytest.fixture
def two(documents: Callable[[], Database]) -> tuple[Database, Database]:
    """Two databases with the same data: what a run leaves behind in one is not in the other."""
    return documents(), documents()


def statement(word: str, options: str, name: str = "m") -> str:
    rules = {"likelihood": f"AS $${PLAIN}$$", "ilp": ""}.get(word, f"AS $${RULES}$$")
    return f"CREATE MODEL {name} OPTIONS (learner = '{word}'{', ' if options else ''}{options}) {rules}"


def test_every_learner_is_among_them() -> None:
    assert {*LEARNED, *SOFTLY, "resolwe", "constrained"} == set(learners())


@pytest.mark.parametrize("word", [*LEARNED, *SOFTLY])
def test_a_learner_is_made_and_asked_as_in_python(
    word: str, read_only_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []
    kind: Any = learners()[word]

    @wraps(kind.fit)
    def fit(self: Any, db: Database, model: object, examples: object = None, **options: object) -> None:
        asked.append((repr(self), db, str(model), examples, options))
        raise InputError("that is all")

    monkeypatch.setattr(kind, "fit", fit)
    begun: object = sqlrl.parse_mln(RULES)
    if word in LEARNED:
        script = statement(word, LEARNED[word][0])
    elif word == "soft-structure":
        script, begun = "CREATE MODEL m OPTIONS (learner = 'soft-structure', target = 'Liked')", "Liked"
    else:
        script, begun = f"CREATE MODEL m OPTIONS (learner = '{word}') AS $${SOFT}$$", sqlrl.parse_psl(SOFT)
    with pytest.raises(ScriptError, match="that is all"):
        read_only_db.run(script)
    with pytest.raises(InputError, match="that is all"):
        LEARNED[word][1](read_only_db, begun) if word in LEARNED else SOFTLY[word]().fit(read_only_db, begun)  # type: ignore[arg-type]
    assert asked[0] == asked[1]


def check_learned(one: Database, other: Database, words: list[str]) -> None:
    """Learn by scripts in one database and by Python in another, and compare models and runs."""
    for word in words:
        options, fit = LEARNED[word]
        one.run(statement(word, options, f'"{word}"'))
        assert str(one.models[word]) == str(fit(other, sqlrl.parse_mln(RULES)).model_), word
    runs = "select run, learner, status from sqlrl.run order by run"
    assert one.sql(runs).fetchall() == other.sql(runs).fetchall()
    assert {row["name"]: row["run"] for row in one.models()}.keys() == set(words)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_learner_learns_what_it_learns_in_python(two: tuple[Database, Database]) -> None:
    check_learned(*two, ["adagrad"])
    assert [row["run"] for row in two[0].models()] == [1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_learner_learns_what_it_learns_in_python(two: tuple[Database, Database]) -> None:
    check_learned(*two, list(LEARNED))


@pytest.mark.parametrize("word", THEN)
def test_a_learner_of_clauses_is_made_with_the_one_of_their_weights(
    word: str, read_only_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    kind: Any = learners()[word]

    @wraps(kind.fit)
    def fit(self: Any, *_: object, **__: object) -> None:
        made.append(repr(self))
        raise InputError("that is all")

    monkeypatch.setattr(kind, "fit", fit)
    options, finder = THEN[word]
    with pytest.raises(ScriptError, match="that is all"):
        read_only_db.run(statement(word, f"{options}, then = 'max-margin(strength=10.0)'"))
    assert made == [repr(finder(sqlrl.MaxMargin(strength=10.0)))]
    assert "then=MaxMargin(strength=10.0)" in made[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("word", THEN)
def test_weights_of_found_clauses_are_learned_again(word: str, two: tuple[Database, Database]) -> None:
    one, other = two
    options, finder = THEN[word]
    rules = "" if word == "ilp" else f"AS $${RULES}$$"
    one.run(f"CREATE MODEL m OPTIONS (learner = '{word}', {options}, then = 'max-margin(strength=10.0)') {rules}")
    fit = finder(sqlrl.MaxMargin(strength=10.0)).fit(other, "Liked" if word == "ilp" else sqlrl.parse_mln(RULES))
    assert str(one.models["m"]) == str(fit.model_)
    (row,) = one.models()
    assert (row["run"], row["learner"]) == (2, "MaxMargin")
    # In two statements: what was found has its name, too.
    one.run(f"CREATE MODEL found OPTIONS (learner = '{word}', {options}) {rules}")
    start = "" if word == "ilp" else ", start = 'found'"
    one.run(
        f"CREATE MODEL again OPTIONS (learner = 'max-margin', strength = 10.0, drop_zeros = true{start}) FROM MODEL found"
    )
    assert str(one.models["again"]) == str(fit.model_)
    assert str(one.models["found"]) == str(fit.found_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("word", SOFTLY)
def test_learners_of_soft_logic(word: str, two: tuple[Database, Database]) -> None:
    one, other = two
    for db in (one, other):
        db.run(
            "CREATE PREDICATE Near(doc, doc) OPTIONS (value = 'v', given = true) AS SELECT a, b, 0.5 AS v FROM links"
        )
        db.run(
            "CREATE PREDICATE Near(doc, doc) OPTIONS (value = 'v', target = true) AS FROM (VALUES ('d1', 'd5', 1.0), ('d3', 'd1', 0.0), ('d6', 'd4', 1.0)) t(a, b, v)"
        )
        db.run("ALTER PREDICATE Near SET SCOPE (FROM (VALUES ('d1', 'd5'), ('d3', 'd1'), ('d6', 'd4')))")
    rules = "1: Link(X, Y) & Near(Y, Z) -> Near(X, Z)\n0.5: !Near(X, Y) ^2\n"
    if word == "soft-structure":
        one.run("CREATE MODEL m OPTIONS (learner = 'soft-structure', target = 'Near', min_targets = 1)")
        expected = sqlrl.SoftStructure(min_targets=1).fit(other, "Near")
    else:
        one.run(f"CREATE MODEL m OPTIONS (learner = '{word}', missing = 'false') AS $${rules}$$")
        expected = SOFTLY[word]().fit(other, sqlrl.parse_psl(rules), missing="false")
    assert str(one.models["m"]) == str(expected.model_)


@pytest.mark.slow
def test_structure_selected_from_a_stream() -> None:
    one, other = (sqlrl.connect(), sqlrl.connect())
    for db in (one, other):
        db.run("""
            CREATE TABLE people AS SELECT g, 'p' || g || i AS a, 'p' || g || (i + 2) % 4 AS b, i % 2 = g % 2 AS smokes FROM range(60) t(g), range(4) u(i);
            CREATE PREDICATE Friends(person, person) OPTIONS (example = 'g') AS SELECT a, b, g FROM people;
            CREATE PREDICATE Smokes(person) OPTIONS (example = 'g', target = true) AS SELECT a, g FROM people WHERE smokes;
        """)
    declared = "Friends(person, person)\nSmokes(person)\n"
    one.run(
        f"CREATE MODEL m OPTIONS (learner = 'resolwe', templates = $x${TEMPLATES}$x$, weights = 'adagrad(learning_rate=0.5)') AS $${declared}$$"
    )
    weights = sqlrl.AdaGrad(learning_rate=0.5)
    expected = sqlrl.Resolwe(sqlrl.parse_grammar(TEMPLATES), weights=weights).fit(other, sqlrl.parse_mln(declared))
    assert str(one.models["m"]) == str(expected.model_)
    assert len(expected.model_.rules) > 0


@pytest.mark.filterwarnings("ignore::sqlrl.errors.CalibrationWarning")
def test_examples_constraints_starts_and_choice(tmp_path: Path) -> None:
    db = sqlrl.connect()
    db.run("""
        CREATE TABLE w AS SELECT 'd' || i AS doc, if(i % 3 = 0, 'good', 'bad') AS word FROM range(20) t(i);
        CREATE PREDICATE Word(doc, word) OPTIONS (example = 'doc') AS FROM w;
        CREATE PREDICATE Liked(doc) OPTIONS (target = true) AS SELECT doc FROM w WHERE word = 'good' OR doc = 'd1';
        CREATE TABLE train AS SELECT doc FROM w WHERE doc NOT LIKE 'd1%';
    """)
    rules = 'Word(doc, word)\nLiked(doc)\nWord(d, "good") => Liked(d)\nLiked(d)\n'
    model = sqlrl.parse_mln(rules)
    names = [row[0] for row in db.sql("from train").fetchall()]
    db.run(f"CREATE MODEL first OPTIONS (learner = 'adagrad') AS $${rules}$$ TRAINED ON (SELECT doc FROM train)")
    assert str(db.models["first"]) == str(sqlrl.AdaGrad().fit(db, model, examples=names).model_)
    assert db.sql("select count(distinct example_name) from sqlrl.learned_from where run = 1").fetchall() == [
        (len(names),)
    ]
    db.run(
        f"CREATE MODEL second OPTIONS (learner = 'adagrad', start = 'first', passes = 2) AS $${rules}$$ TRAINED ON (FROM train)"
    )
    again = sqlrl.AdaGrad(passes=2).fit(db, model, examples=names, start=db.models["first"])  # type: ignore[arg-type]
    assert str(db.models["second"]) == str(again.model_)
    result = db.run(f"CREATE MODEL chosen OPTIONS (learner = 'auto') AS $${rules}$$")
    choice = sqlrl.choose_learner(db, model)
    assert result.statements[0].note.startswith(
        f"CREATE MODEL chosen: {choice.word} (chosen, since {choice.reason}); 2 rules"
    )
    assert str(db.models["chosen"]) == str(choice.estimator().fit(db, model).model_)
    hard = sqlrl.parse_mln(rules + 'Word(d, "bad") => !Liked(d).\n')
    db.run(f"CREATE MODEL bound OPTIONS (learner = 'cda', constraints = 'l+i') AS $${hard}$$")
    assert str(db.models["bound"]) == str(sqlrl.ConstrainedTraining(sqlrl.CDA(), "l+i").fit(db, hard).model_)
    # From a file, from another model, and written to a file.
    path = tmp_path / "it's.mln"
    quoted = str(path).replace("'", "''")
    db.run(f"EXPORT MODEL first TO '{quoted}'; CREATE MODEL read FROM '{quoted}'; CREATE MODEL same FROM MODEL read")
    assert str(db.models["read"]) == str(db.models["same"]) == str(db.models["first"])
    # As a view that scores, which says what the probabilities are.
    db.run(f"EXPORT MODEL first TO '{tmp_path / 'view.sql'}' OPTIONS (dialect = 'duckdb', view = 'scores')")
    con = duckdb.connect()
    con.execute("create table Word (doc text, word text)").execute(
        "insert into Word values ('d0', 'good'), ('d1', 'bad')"
    )
    con.execute((tmp_path / "view.sql").read_text(encoding="utf-8"))
    scored = dict(con.sql("select doc, probability from scores").fetchall())
    expected = db.run(
        "SELECT doc, probability FROM ML.PROBABILITIES(MODEL first, (FROM (VALUES ('d0'), ('d1'))))"
    ).table
    assert expected is not None
    assert scored == pytest.approx({row["doc"]: row["probability"] for row in expected.to_pylist()})
    modes = tmp_path / "some.modes"
    modes.write_text("modeP(2, Word(-,#))\nmodeP(2, Liked(-))\n", encoding="utf-8")
    declared = "Word(doc, word)\nLiked(doc)\n"
    db.run(f"CREATE MODEL found OPTIONS (learner = 'osl', modes = '{modes}') AS $${declared}$$ TRAINED ON (FROM train)")
    assert len(db.models["found"].rules) > 0


def test_a_stored_model_may_be_altered_and_dropped(db: Database) -> None:
    db.run(
        "ALTER MODEL taste ADD RULE 'Link(x, y) => Liked(y)' WEIGHT 0.5; ALTER MODEL taste ADD RULE 'Liked(\"d1\").'"
    )
    rules = db.models["taste"].rules
    assert (rules[-2].weight, rules[-1].hard, len(rules)) == (0.5, True, 6)
    db.run(
        "CREATE OR REPLACE MODEL taste OPTIONS (drop = 'Link') FROM MODEL taste; CREATE MODEL IF NOT EXISTS taste AS $$ Liked(doc) $$"
    )
    assert len(db.models["taste"].rules) == 4
    assert "Link" not in db.models["taste"].predicates
    db.run("DROP MODEL Taste; DROP MODEL IF EXISTS taste")
    assert len(db.models()) == 0


@pytest.mark.parametrize(
    ("statement", "line", "column", "problem"),
    [
        ("CREATE MODEL m OPTIONS (learner = 'adagrd') FROM MODEL taste", 1, 35, "there is no learner 'adagrd'; did you mean 'adagrad'"),
        ("CREATE MODEL m OPTIONS (learner = 'adagrad', deta = 2) FROM MODEL taste", 1, 46, "adagrad has no option deta; did you mean 'delta'?"),
        ("CREATE MODEL m OPTIONS (learner = 'adagrad', delta = -1) FROM MODEL taste", 1, 54, "delta = -1 is not a finite number"),
        ("CREATE MODEL m OPTIONS (learner = 'cda', update = 'random') FROM MODEL taste", 1, 51, "choose 'maximal' or 'prediction'"),
        ("CREATE MODEL m OPTIONS (learner = 'adagrad', eta = 2) FROM MODEL taste", 1, 46, "adagrad has no option eta; did you mean 'learning_rate'?"),
        ("CREATE MODEL m OPTIONS (learner = 'osl') FROM MODEL taste", 1, 25, "osl needs modes: OPTIONS (learner = 'osl', modes = 'file' or modes = $$ ... $$)"),
        ("CREATE MODEL m OPTIONS (learner = 'osl', modes = $$modeP(1, Word(-,#)\n$$) FROM MODEL taste", 1, 70, "expected ')'"),
        ("CREATE MODEL m OPTIONS (learner = 'osl', modes = 'no such file') FROM MODEL taste", 1, 50, "cannot read the file"),
        ("CREATE MODEL m OPTIONS (learner = 'resolwe', templates = $$Liked(x)$$, weights = 'adagrd') FROM MODEL taste", 1, 82, "there is no estimator 'adagrd'"),
        ("CREATE MODEL m OPTIONS (learner = 'likelihood')", 1, 14, "likelihood needs rules"),
        ("CREATE MODEL m OPTIONS (learner = 'ilp')", 1, 14, "name the predicate that rules are to be about"),
        ("CREATE MODEL m", 1, 14, "the rules are missing"),
        ("CREATE MODEL m OPTIONS (strength = 1) FROM MODEL taste", 1, 25, "a model that nobody learns has no option strength"),
        ("CREATE MODEL m OPTIONS (target = 'Lkd') FROM MODEL taste", 1, 14, "target = 'Lkd' is no predicate of the model; did you mean 'Liked'?"),
        ("CREATE MODEL m OPTIONS (format = 'pls') AS $$ 1: A(X) $$", 1, 34, "choose 'mln' or 'psl'"),
        ("CREATE MODEL taste FROM MODEL taste", 1, 14, "there is a model taste already: CREATE OR REPLACE MODEL"),
        ("CREATE MODEL m FROM MODEL tase", 1, 27, "there is no model tase; did you mean 'taste'?"),
        ("CREATE MODEL m FROM 'no such file.mln'", 1, 22, "cannot read the file"),
        ("CREATE MODEL m AS $$ Liked(doc)\n  1 Likd(x) $$", 2, 5, "unknown predicate 'Likd'; did you mean 'Liked'?"),
        ("CREATE MODEL m FROM MODEL taste TRAINED ON (FROM liked)", 1, 45, "no learner is named: add OPTIONS (learner = 'auto')"),
        ("CREATE MODEL m OPTIONS (learner = 'adagrad') FROM MODEL taste TRAINED ON (SELECT doc FROM liked WHERE false)", 1, 75, "no rows"),
        ("CREATE MODEL m OPTIONS (learner = 'adagrad', start = 'tast') FROM MODEL taste", 1, 54, "there is no model tast"),
        ("CREATE MODEL m OPTIONS (learner = 'soft-pseudo-likelihood') FROM MODEL taste", 1, 14, "learn a program of probabilistic soft logic"),
        ("ALTER MODEL taste ADD RULE 'Liked(d). ' WEIGHT 1", 1, 48, "leave WEIGHT out"),
        ("ALTER MODEL taste ADD RULE 'Liked(d) => Word(d' WEIGHT 1", 1, 47, "expected"),
        ("ALTER MODEL taste ADD RULE 'Liked(d)' WEIGHT true", 1, 46, "a weight is a number"),
        ("DROP MODEL nothing", 1, 12, "there is no model nothing"),
        ("EXPORT MODEL taste TO 'x.csv'", 1, 24, "cannot tell the format of x.csv"),
        ("EXPORT MODEL taste TO 'x.sql' OPTIONS (dialect = 'sqlit')", 1, 14, "sqlit"),
        ("EXPORT MODEL taste TO 'x.mln' OPTIONS (dialect = 'sqlite')", 1, 40, "a model in x.mln has no option dialect"),
        ("DESCRIBE MODEL tast", 1, 16, "there is no model tast"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_is(
    read_only_db: Database, statement: str, line: int, column: int, problem: str
) -> None:
    with pytest.raises(ScriptError) as caught:
        read_only_db.run(statement)
    assert problem in caught.value.problem
    assert (caught.value.line, caught.value.column) == (line, column)
    assert [row["name"] for row in read_only_db.models()] == ["taste"]


def test_what_fit_does_not_take_is_no_option() -> None:
    taken = {word: signature(kind.fit).parameters for word, kind in learners().items()}
    refused = [
        (word, name)
        for word, names in taken.items()
        for name in ("limit", "start", "groups")
        if not {name, "options"} & set(names)
    ]
    assert {("adagrad", "groups"), ("ilp", "limit"), ("resolwe", "start")} <= set(refused)
    db = sqlrl.connect()
    db.run("CREATE PREDICATE Old(x) AS SELECT 'a'; CREATE MODEL m AS $$ Old(x)\n1 Old(x) $$")
    for word, name in refused:
        if any(each.default is REQUIRED for each in declarations(learners()[word]).values()):
            continue
        form = (
            "OPTIONS (target = 'Old', learner = '{}', {} = 'm')"
            if name == "start"
            else "OPTIONS (target = 'Old', learner = '{}', {} = 3)"
        )
        script = f"CREATE MODEL made {form.format(word, name)} AS $$ Old(x)\nOld(x) $$"
        with pytest.raises(ScriptError, match=f"{word} has no option {name}") as caught:
            db.run(script)
        assert caught.value.column >= script.index(name + " =") + len(name)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("learner = 'constrained'", "constrained trains another learner: name that one"),
        ("learner = 'adagrad', delta = (SELECT 1)", "delta takes a value, and no query"),
        ("learner = 'adagrad', start = 3", "start names a model whose weights are the first ones, in quotes"),
        ("learner = 'msl', then = '\"(\"'", "then is a learner, such as 'adagrad(delta=2.0)'"),
    ],
)
def test_options_that_are_no_values(read_only_db: Database, options: str, problem: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_only_db.run(f"CREATE MODEL m OPTIONS ({options}) FROM MODEL taste")
    assert problem in caught.value.problem


def test_a_switch_of_an_export_is_a_truth_value(read_only_db: Database, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="partial must be true or false"):
        read_only_db.run(f"EXPORT MODEL taste TO '{tmp_path / 'a.sql'}' OPTIONS (partial = 'no')")
    assert not (tmp_path / "a.sql").exists()


def test_rules_that_cannot_be_added(documents: Callable[[], Database]) -> None:
    db = documents()
    db.run(f"CREATE MODEL taste AS $${RULES}$$; CREATE MODEL soft OPTIONS (format = 'psl') AS $${SOFT}$$")
    for statement, problem in (
        ("ALTER MODEL taste ADD RULE 'Nope(doc)'", "unknown predicate 'Nope'; there are Word, Link, Liked"),
        ("ALTER MODEL taste ADD RULE ''", "give one rule, not 0"),
        ("ALTER MODEL taste ADD RULE $$Liked(d)\nLink(x, x)$$", "give one rule, not 2"),
        ("ALTER MODEL soft ADD RULE 'Liked(d)'", "soft is a program of soft logic: write it anew, with its new rule"),
        (
            "CREATE MODEL m OPTIONS (learner = 'auto') FROM MODEL soft",
            "learner = 'auto' chooses among learners of Markov",
        ),
    ):
        with pytest.raises(ScriptError) as caught:
            db.run(statement)
        assert problem in caught.value.problem
    assert [len(db.models[name].rules) for name in ("taste", "soft")] == [4, 2]


def test_a_bias_says_what_rules_are_to_be_about(read_only_db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []

    @wraps(sqlrl.ILP.fit)
    def fit(self: Any, db: Database, target: object, *_: object, **__: object) -> None:
        begun.append(target)
        raise InputError("that is all")

    monkeypatch.setattr(sqlrl.ILP, "fit", fit)
    bias = ":- modeh(1, liked(+doc)).\n:- modeb(*, word(+doc, #word)).\n:- determination(liked/1, word/2).\n"
    with pytest.raises(ScriptError, match="that is all"):
        read_only_db.run(f"CREATE MODEL m OPTIONS (learner = 'ilp', bias = $${bias}$$)")
    assert begun == ["liked"]
