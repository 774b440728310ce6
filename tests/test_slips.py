"""Natural slips: each is an error of ours with the call that helps, and what it names exists."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import sqlrl
from sqlrl.arguments import GIVEN, NEEDED
from sqlrl.deprecated import old_parameters
from sqlrl.errors import InputError, Message, NotFittedError, ScopeWarning, SqlrlError, UnknownNameError
from sqlrl.evaluate import score_rankings
from sqlrl.learn.parameters import declarations
from sqlrl.slips import PARAMETERS, WORDS
from tests.offered import OFFERED

TEXT = 'Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)'


class Things:
    """One of each thing that users hold."""

    def __init__(self) -> None:
        self.db = sqlrl.connect()
        rows = [("d1", "good"), ("d2", "bad"), ("d3", "good")]
        self.db.load("Word", rows, types=["doc", "word"], example="doc")
        self.db.load("Liked", [("d1",)], types=["doc"], target=True)
        self.model = sqlrl.parse_mln(TEXT)
        self.fit = sqlrl.Likelihood().fit(self.db, self.model)
        self.prediction, self.marginals = self.db.predict(self.model), self.db.probabilities(self.model)
        self.scores, self.chances = self.db.evaluate(self.prediction), self.db.evaluate(self.marginals)
        self.table, self.split = self.prediction.table(), self.db.split(0.4)
        self.ilp, self.constrained = sqlrl.ILP(), sqlrl.ConstrainedTraining(sqlrl.baselines.MIRA())

    def owners(self) -> dict[str, list[object]]:
        return {
            "Database": [self.db],
            "estimator": [self.fit, self.ilp, self.constrained, sqlrl.AdaGrad()],
            "Prediction": [self.prediction],
            "Marginals": [self.marginals],
            "Model": [self.model],
            "SoftModel": [sqlrl.parse_psl("1: !Liked(D)")],
            "Table": [self.table, self.fit.clauses()],
            "Scores": [self.scores],
            "ProbabilityScores": [self.chances],
            "RankingScores": [score_rankings([True, False], [0.5, 0.25], [0, 0])],
            "RunRecord": [self.db.runs[self.fit.run_]],
            "Split": [self.split],
            "sqlrl": [sqlrl],
        }


@pytest.fixture(scope="module")
def things() -> Things:
    return Things()


@pytest.mark.parametrize(
    "owner", ["Database", "estimator", "Prediction", "Marginals", "Model", "Table", "Scores", "sqlrl"]
)
def test_each_word_is_an_error_with_its_sentence(things: Things, owner: str) -> None:
    n_said = 0
    for thing in things.owners()[owner]:
        for word, sentence in WORDS.items():
            if word in dir(thing) or hasattr(thing, word) or f"sqlrl.{word}" in sys.modules:
                continue  # it has that, such as `learn`, which is a part of the package
            if word in {each for kind in type(thing).__mro__ for each in inspect.get_annotations(kind)}:
                continue  # it will have that once it has learned
            with pytest.raises(UnknownNameError) as caught:
                getattr(thing, word)
            said = str(caught.value).endswith(f"has no attribute {word!r}: {sentence}")
            assert said or "; did you mean '" in str(caught.value)
            n_said += said
            assert isinstance(caught.value, AttributeError)
            assert not hasattr(thing, word)
    assert n_said >= len(WORDS) / 2


def test_what_sentences_name_exists(things: Things) -> None:
    tables = {row[0] for row in things.db.sql("select table_name from information_schema.tables").fetchall()}
    for sentence in {*WORDS.values(), *map(Message, NEEDED.values()), *GIVEN.values()}:
        check(things, sentence, tables)


def check(things: Things, sentence: str, tables: set[str]) -> None:
    """Look whether what a sentence names exists."""
    text = re.sub(r"'[^']*'", "''", sentence)  # names of files have dots, too
    found = re.findall(r"\b(db|fit|prediction|marginals|model|other|table|split|scores|sqlrl)\.(\w+)", text)
    for name, attribute in found:
        if name == "sqlrl":
            assert attribute in {*dir(sqlrl), *tables}, sentence
        elif name == "scores":
            assert attribute in {
                *dir(things.scores),
                *dir(things.chances),
                *dir(score_rankings([True, False], [0.5, 0.25], [0, 0])),
            }, sentence
        else:
            assert attribute in dir(getattr(things, {"other": "model"}.get(name, name))), sentence
    assert set(re.findall(r"from sqlrl\.(\w+)", sentence)) <= tables, sentence
    # Keywords that it shows are parameters of the call.
    for call, keyword in re.findall(r"\bdb\.(\w+)\([^()]*?\b(\w+)=", sentence):
        assert keyword in inspect.signature(getattr(sqlrl.Database, call)).parameters, sentence


@pytest.mark.parametrize(
    ("owner", "slip", "wanted"),
    [
        ("Database", "lod", "load"),
        ("Database", "probabilites", "probabilities"),
        ("Database", "Predict", "predict"),
        ("Database", "tabels", "tables"),
        ("estimator", "getparams", "get_params"),
        ("estimator", "model__", "model_"),
        ("estimator", "setparams", "set_params"),
        ("estimator", "mdoel_", "model_"),
        ("Prediction", "objectiv", "objective"),
        ("Prediction", "tabel", "table"),
        ("Marginals", "probabilites", "probabilities"),
        ("Model", "withrules", "with_rules"),
        ("SoftModel", "withtypes", "with_types"),
        ("Table", "to_arow", "to_arrow"),
        ("Scores", "exampleaccuracy", "example_accuracy"),
        ("ProbabilityScores", "AUC_ROC", "auc_roc"),
        ("Split", "tests", "test"),
        ("sqlrl", "Adagrad", "AdaGrad"),
        ("sqlrl", "ADAGRAD", "AdaGrad"),
        ("sqlrl", "Maxmargin", "MaxMargin"),
        ("sqlrl", "pscg", "PSCG"),
        ("sqlrl", "pseudolikelihood", "PseudoLikelihood"),
        ("sqlrl", "likelihod", "Likelihood"),
        ("sqlrl", "parse_mlm", "parse_mln"),
        ("sqlrl", "readpsl", "read_psl"),
        ("sqlrl", "conect", "connect"),
        ("sqlrl", "kfold_", "k_fold"),
    ],
)
def test_misspelt_names_are_told(things: Things, owner: str, slip: str, wanted: str) -> None:
    for thing in things.owners()[owner]:
        with pytest.raises(UnknownNameError, match=rf"has no attribute '{slip}'; did you mean .*'{wanted}'"):
            getattr(thing, slip)


def test_far_names_are_not_guessed(things: Things) -> None:
    with pytest.raises(UnknownNameError, match=r"^a Database has no attribute 'zebra'$"):
        getattr(things.db, "zebra")  # noqa: B009 (there is none)


KINDS: list[tuple[Callable[[Things], object], str]] = [
    (
        lambda t: t.db.evaluate(t.model),
        r"not an object of type Model: give what db\.predict\(model\) or .*; a model is held against data",
    ),
    (lambda t: t.db.evaluate(t.fit), r"not the estimator Likelihood: .*db\.predict\(fit\.model_\)"),
    (lambda t: t.db.evaluate(sqlrl.baselines.MIRA()), r"the estimator MIRA: .*; it has learned nothing yet"),
    (lambda t: t.db.evaluate("m.mln"), r"not the path 'm\.mln': .*; sqlrl\.read_mln\('m\.mln'\) reads that file"),
    (lambda t: t.db.evaluate(None), r"not None: give what db\.predict\(model\) or db\.probabilities\(model\) returned"),
    (
        lambda t: t.db.evaluate(t.table),
        r"type Table: give what db\.predict\(model\)",
    ),
    (lambda t: t.db.evaluate(t.table.to_pandas()), r"type DataFrame: .* sqlrl\.evaluate scores arrays"),
    (lambda t: t.db.evaluate([t.prediction]), r"type list: give what db\.predict\(model\)"),
    (lambda t: t.db.evaluate(t.scores), r"type Scores: give what"),
    (lambda t: t.db.predict("a/m.mln"), r"not the path 'a/m\.mln': .*sqlrl\.read_mln\('a/m\.mln'\) reads that file"),
    (lambda t: t.db.probabilities("m.json"), r"not the path 'm\.json': .*sqlrl\.read_mln\('m\.json'\) reads"),
    (lambda t: t.db.predict(t.db), r"type Database: .*; a database comes first"),
    (lambda t: t.db.predict(sqlrl.baselines.MIRA()), r"the estimator MIRA: .*; it has learned nothing yet: call fit"),
    (lambda t: t.db.predict(sqlrl.baselines.MIRA), r"not the class MIRA: .*; make one"),
    (lambda t: t.db.predict(t.prediction), r"type Prediction: parse it with"),
    (lambda t: t.db.count([t.model]), r"type list: parse it"),
    (lambda t: t.fit.fit(t.db, "x.mln"), r"not the path 'x\.mln': .*sqlrl\.read_mln\('x\.mln'\) reads"),
    (lambda t: t.fit.fit(t.model, t.db), r"fit learns from a database, not from an object of type Model"),
    (lambda t: sqlrl.choose_learner(t.model, t.db), r"learns from a database, not from an object of type Model"),  # type: ignore[arg-type]
    (
        lambda t: t.db.predict(t.model, examples=t.split),
        r"examples=.*type Split: .*; a split has split\.train and split\.test",
    ),
    (lambda t: t.db.predict(t.model, examples=0.2), r"examples=.*type float: .*; db\.split\(0\.2\) holds out a share"),
    (lambda t: t.db.predict(t.model, examples=t.model), r"examples=.*type Model: sqlrl\.example lists the names"),
    (
        lambda t: t.db.predict(t.model, examples=pd.DataFrame({"a": ["d1"], "b": ["x"]})),
        r"takes one column, .* has 2: a, b",
    ),
    (
        lambda t: t.db.scope("Liked", [("d1", "x")]),
        r"the scope of Liked\(doc\) needs 1 column, .* has 2: column0, column1",
    ),
    (
        lambda t: t.db.scope("Word", "select 'd1' as doc"),
        r"the scope of Word\(doc, word\) needs 2 columns, .* has 1: doc",
    ),
    (lambda t: t.db.scope("Liked", t.split), r"type Split: .*; a split has split\.train and split\.test"),
    (
        lambda t: t.db.load("P", t.prediction),
        r"type Prediction: .*; a prediction has its atoms in prediction\.atoms\(\)",
    ),
    (lambda t: t.db.load("P", t.marginals), r"type Marginals: .*; they are in marginals\.probabilities\(\)"),
    (lambda t: t.db.load("P", t.db), r"type Database: pass a path, an Arrow table"),
    (lambda t: t.db.load("P", t.model), r"type Model: .*; a model is held against data"),
    (
        lambda t: t.db.sql(t.model),
        r"the text of a query is needed, not an object of type Model: .*; a model is held against",
    ),
    (lambda t: t.db.sql(None), r"the text of a query is needed, not None: write SQL"),
    (lambda t: t.db.models["m.mln"], r"there is no model m\.mln; .*sqlrl\.read_mln"),
    (lambda t: t.db.models["m"], r"there is no model m; none has a name yet, which db\.models\['m'\] = model gives it"),
    (lambda t: t.db.models[1.5], r"there is no model 1\.5: db\.models\(\) lists their names and whole numbers"),
    (lambda t: t.db.runs[None], r"there is no run None: runs have whole numbers, which db\.runs\(\) lists"),
    (lambda t: t.db.predict("taste"), r"not the text 'taste': .*db\.predict\(db\.models\['taste'\]\)"),
    (lambda t: t.db.diagnose("taste"), r"a model, or rules, is needed, not the text 'taste': .*db\.models\['taste'\]"),
    (lambda t: t.db.predict("1 Liked(d)"), r"not the text '1 Liked\(d\)': [^;]*$"),
    (lambda t: t.db.split("doc"), r"a type whose constants are not to be shared is by='doc'"),
    (
        lambda t: sqlrl.connect(t.db),
        r"a path is needed, not an object of type Database: .*db\.cursor\(\) is another one on its data",
    ),
    (lambda t: sqlrl.connect(t.model), r"a path is needed, not an object of type Model"),
    (lambda t: sqlrl.connect(3), r"a path is needed, not an object of type int: give a str"),  # type: ignore[arg-type]
    (
        lambda t: sqlrl.save_model("x.mln", t.model),
        r"type Model: .* after the model: sqlrl\.save_model\(model, path\)",
    ),  # type: ignore[arg-type]
    (lambda t: t.model.save(3), r"the path of a file is needed, not an object of type int"),
    (lambda t: t.model.with_rules(t.model), r"type Model: give a tuple of rules, such as model\.rules"),
    (
        lambda t: t.model.with_rules("1 Liked(d)"),
        r"not the text '1 Liked\(d\)': .*sqlrl\.parse_mln\(text\) parses them",
    ),
    (lambda t: t.prediction.write(3), r"the name of a table is needed, not an object of type int"),
    (lambda t: sqlrl.k_fold(t.db), r"names of examples are needed, not an object of type Database"),  # type: ignore[arg-type, type-var]
    (lambda t: sqlrl.leave_one_group_out("d1", ["a"]), r"names of examples are needed, not the text 'd1'"),
]


@pytest.mark.parametrize(("slip", "message"), KINDS)
def test_arguments_of_another_kind(things: Things, slip: Callable[[Any], object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        slip(things)
    assert isinstance(caught.value, SqlrlError)


LEARNERS: list[Any] = [made for made in OFFERED.values() if hasattr(made, "get_params")]


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.__name__)
def test_parameters_of_other_libraries_are_told(kind: Any) -> None:
    names = declarations(kind)
    for word, wanted in PARAMETERS.items():
        if word in names or word in old_parameters(kind):
            continue
        with pytest.raises(
            InputError, match=rf"^{kind.__name__} got an unexpected keyword argument '{word}'"
        ) as caught:
            kind(**{word: 1})
        assert (f"did you mean {wanted!r}?" in str(caught.value)) == (wanted in names) or "did you mean" in str(
            caught.value
        )
    with pytest.raises(InputError, match=r"; its \d+ parameters?: "):
        kind(zzzzzz=1)


def test_a_scope_of_a_misspelt_predicate_warns() -> None:
    db = sqlrl.connect()
    for name in ("Word", "Liked"):
        db.load(name, [("d1",)], types=["doc"], target=name == "Liked")
    for slip, like in (("Liekd", "Liked"), ("liked", "Liked"), ("Wrod", "Word")):
        with pytest.warns(
            ScopeWarning, match=rf"the scope is that of {slip}, of which nothing was loaded; did you mean '{like}'"
        ):
            db.scope(slip, [("d1",)])


# ---- what asks for names by itself ------------------------------------------------------------------------


PROBES = [
    "_repr_html_",
    "_repr_png_",
    "_repr_mimebundle_",
    "_ipython_display_",
    "_ipython_canary_method_should_not_exist_",
    "__array__",
    "__deepcopy__",
]


def test_probes_of_notebooks_get_a_plain_answer(things: Things) -> None:
    for thing in list[Any](each for kinds in things.owners().values() for each in kinds):
        for probe in PROBES:
            found = getattr(thing, probe, None)
            assert found is None or callable(found)
        if thing is not sqlrl:
            with pytest.raises(AttributeError) as caught:
                _ = thing._repr_zzz_
            assert type(caught.value) is AttributeError
        assert dir(thing)


def test_what_can_be_copied_and_pickled_is_as_before(things: Things) -> None:
    for thing in (
        things.fit,
        things.model,
        things.scores,
        things.chances,
        things.ilp,
        things.constrained,
        things.table,
    ):
        for other in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert repr(other) == repr(thing)
            with pytest.raises(UnknownNameError):
                getattr(other, "predict_proba")  # noqa: B009 (there is none)
    bare = sqlrl.Likelihood.__new__(sqlrl.Likelihood)
    with pytest.raises(NotFittedError):
        _ = bare.model_
    for thing in (things.prediction, things.db):
        with pytest.raises(InputError, match="cannot be pickled"):
            pickle.dumps(thing)


def test_an_error_of_a_property_is_not_taken_for_a_missing_name(things: Things) -> None:
    class Broken(sqlrl.Table):
        @property
        def total(self) -> int:
            return self.to_arrow().not_there  # type: ignore[no-any-return]

    with pytest.raises(AttributeError, match="not_there"):
        _ = Broken(things.table.to_arrow()).total


# ---- tables ---------------------------------------------------------------------------------------------


def test_clauses_print_as_a_table_and_do_what_a_table_of_arrow_does(things: Things) -> None:
    for fit in (
        things.fit,
        sqlrl.baselines.MIRA().fit(things.db, things.model),
        sqlrl.ILP(noise=9, min_score=-9, min_positive=1, above_seed=False).fit(things.db, "Liked"),
    ):
        clauses = fit.clauses()
        assert isinstance(clauses, sqlrl.Table)
        assert str(clauses).splitlines()[0].split()[0] == "clause"
        assert clauses._repr_html_().startswith("<table>")
        arrow = clauses.to_arrow()
        assert clauses.to_pylist() == arrow.to_pylist() == list(clauses)
        assert (clauses.num_rows, clauses.column_names) == (arrow.num_rows, arrow.column_names)
        assert clauses["clause"].to_pylist() == arrow["clause"].to_pylist() == list(clauses["clause"])
        dynamic: Any = clauses
        assert dynamic.slice(0, 1).equals(arrow.slice(0, 1))
        assert dynamic.column("clause").equals(arrow.column("clause"))
        assert clauses == arrow
        assert clauses != things.table


def test_dir_of_the_package_has_metrics_and_folds() -> None:
    for name in (
        "evaluate",
        "auc_roc",
        "average_precision",
        "k_fold",
        "leave_one_group_out",
        "score_probabilities",
        "Split",
    ):
        assert name in dir(sqlrl)
    assert sqlrl.evaluate.k_fold is sqlrl.k_fold
