"""Names that people try first, from other libraries or by heart, and the call that does here what they want.

A name that an object does not have is compared with those that it has; else a word that other libraries have for it says the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlrl.deprecated import NAMES
from sqlrl.errors import UnknownNameError
from sqlrl.wording import did_you_mean, nearest_names

_PROBES = ("_repr_", "_ipython_", "_jupyter_", "__")
"""How names begin by which notebooks, `copy` and `pickle` ask what an object can do."""

_ALIKE = 0.8
"""How alike two names are of which one is a slip for the other (`difflib`)."""


def _words(sentences: Mapping[str, str]) -> dict[str, str]:
    """Return the sentence of each word; a key has words with blanks between them."""
    return {word: sentence for words, sentence in sentences.items() for word in words.split()}


WORDS: Mapping[str, str] = _words(
    {
        "fit train learn partial_fit fit_predict fit_transform update learn_one": "a learner learns: sqlrl.AdaGrad().fit(db, model), or "
        "sqlrl.choose_learner(db, model).estimator().fit(db, model)",
        "predict infer inference map_inference mpe decode solve world y_pred predictions truth": "db.predict(model) finds the most probable world",
        "predict_proba predict_log_proba decision_function proba probability marginal marginals sample gibbs": "db.probabilities(model) "
        "finds the probability of each atom",
        "score scores accuracy metrics f1 f1_score precision recall classification_report evaluate auc auc_roc roc_auc average_precision log_loss "
        "log_likelihood calibration accuracy_score": "db.evaluate(db.predict(model)) scores a prediction, db.evaluate(db.probabilities(model)) probabilities",
        "roc_auc_score average_precision_score brier_score_loss calibration_curve confusion_matrix confusion ndcg": "the metrics are in sqlrl.evaluate",
        "to_pandas to_polars to_arrow to_df to_dict to_csv to_list df pandas head tail columns iloc loc values shape sort_values groupby merge": "results "
        "have tables, which are frames on demand: prediction.table().to_pandas(), fit.clauses().to_pandas()",
        "query sql execute fetch fetchall fetchone run_sql read_sql": "db.sql(query) runs SQL on a database",
        "table_names list_tables show_tables relations schema": "db.tables() lists what is loaded, and db.sql('show all tables') all tables",
        "examples types history iterations loss_curve_ history_": "they are tables: db.runs() lists the runs, db.models() models with names, and "
        "sqlrl.example, sqlrl.model, sqlrl.type, sqlrl.iteration, sqlrl.step the rest",
        "open Connection DB Database open_database create_engine": "sqlrl.connect(path) opens a database",
        "load add insert add_facts load_facts load_csv load_parquet read_csv read_parquet load_table load_data from_pandas DataFrame Dataset": ""
        "db.load('Predicate', source) loads a file, a frame, a query or tuples",
        "labels load_labels targets set_target": "db.load('Predicate', source, target=True) loads labels",
        "load_model read_model read_mln load_mln parse read from_file from_string MLN MarkovLogicNetwork MarkovLogic Program Rule Formula PSL": ""
        "sqlrl.read_mln(path) reads a model, sqlrl.parse_mln(text) makes one of a text",
        "save dump dumps write export to_file to_mln to_json write_mln to_parquet to_table into": "model.save('model.mln') writes a model, and "
        "prediction.write('name') makes a table of a prediction; what a call has done is in the database when it returns",
        "commit flush disconnect": "what a call has done is in the file when it returns; db.close() closes it",
        "to_sql as_sql model_sql create_view export_view score_sql": "db.export(model, format='sql') writes a model as a view that gives each atom its probability",
        "clauses weights weight rules formulas theory coef_ coefs_ coef intercept_ feature_importances_": "fit.clauses() lists the clauses with their "
        "weights, the strongest first, and model.rules has the rules",
        "why explain explanation reasons": "prediction.why('Predicate(constant)') says why an atom is predicted so",
        "clusters cluster groups": "prediction.clusters('Predicate') returns the clusters of a predicted equivalence",
        "report html_report plot charts page html timings": "db.runs[number].report('report.html') writes a page about a run, and "
        "db.runs[number].plot has its charts",
        "split train_test_split holdout hold_out train_examples test_examples X_train X_test validation": "db.split(0.2) holds out a part of the data, "
        "and split.train and split.test are its parts",
        "KFold StratifiedKFold kfold folds cross_validate cross_val_score": "sqlrl.k_fold(names) makes folds of examples",
        "GroupKFold LeaveOneGroupOut": "sqlrl.leave_one_group_out(names, groups) makes a fold for each group",
        "LogisticRegression Logistic LogReg": "sqlrl.Likelihood learns weights by exact conditional likelihood",
        "PLL WPLL PseudoLogLikelihood GenerativeLearner": "sqlrl.PseudoLikelihood learns weights by (weighted) pseudo-likelihood",
        "SVM SVC LinearSVC StructuredSVM SSVM": "sqlrl.MaxMargin learns weights with a large margin",
        "SGD Adam Optimizer FTRL": "sqlrl.AdaGrad is an online learner, and sqlrl.choose_learner(db, model) chooses one by the data",
        "Aleph Progol FOIL Metagol RuleLearner StructureLearner LSM BUSL": "sqlrl.ILP learns clauses, sqlrl.OSL and sqlrl.MSL clauses with weights",
        "TransferLearner TAMAR Revision": "sqlrl.Transfer carries a model over to other data",
    }
)  # fmt: skip
"""The sentence that helps, by word."""

PARAMETERS: Mapping[str, str] = _words(
    {
        "lr eta alpha step_size": "learning_rate",
        "seed rng random_seed": "random_state",
        "epochs n_epochs num_epochs n_passes": "passes",
        "max_iter n_iter iterations n_iterations": "max_iterations",
        "batch_size chunk_size": "window",
        "cv n_splits": "folds",
        "C C_ lambda_ prior reg regularization regularization_strength sigma": "strength",
        "relearn refit reweigh": "then",
        "drop_zero prune sparse": "drop_zeros",
    }
)
"""What parameters of other libraries are called here."""

RECIPROCAL: Mapping[str, str] = dict.fromkeys(("C", "C_"), ", which is 1 / C")
"""Words behind the name of one whose value is another."""


class Helpful:
    """What says, of a name that it does not have, what to call instead."""

    __slots__ = ()

    if not TYPE_CHECKING:  # or else every name would pass the check of types

        def __getattr__(self, name):
            # Called only for what is not there; or where a property failed, whose error is the news.
            if name.startswith(_PROBES):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            for kind in type(self).__mro__:
                if name in NAMES.get(kind.__name__, {}):
                    return NAMES[kind.__name__][name].of(self, name)
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)
            raise no_name(type(self).__name__, name, dir(self))


def no_name(kind: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error that a class, or "sqlrl", lacks a name, with the call that helps; `known` are the names there are."""
    if name.startswith(_PROBES):
        # Asked by machines, often, and never shown.
        return AttributeError(f"{kind!r} object has no attribute {name!r}")
    what = kind if kind == "sqlrl" else f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
    return UnknownNameError(f"{what} has no attribute {name!r}{_hint(name, known)}")


def _hint(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the names that are nearest, else the sentence of a word, else nothing."""
    near = nearest_names(name, (each for each in known if not each.startswith("_")), _ALIKE)
    if near:
        return did_you_mean(near)
    word = nearest_names(name, WORDS, _ALIKE)
    return f": {WORDS[word[0]]}" if word else ""
