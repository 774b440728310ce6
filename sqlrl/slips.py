"""Names that people try first, from other libraries or by heart, and the call that does here what they want.

A word stands once, with all owners on which it is tried; what is not a word of the table is compared with the names that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from sqlrl.deprecated import NAMES
from sqlrl.errors import UnknownNameError
from sqlrl.wording import edits

_PROBES = ("_repr_", "_ipython_", "_jupyter_", "__")
"""How names begin by which notebooks, `copy` and `pickle` ask what an object can do."""

_NEAREST = 3
"""One edit for so many letters is still the same word."""


def _words(sentences: Mapping[str, str]) -> dict[str, str]:
    """Return the sentence of each word; a key has words with blanks between them."""
    return {word: sentence for words, sentence in sentences.items() for word in words.split()}


_FRAME = "to_pandas to_polars to_arrow to_df df to_dict to_csv to_list head tail rows columns fetchall fetchone iloc loc values"
_PROBABLE = "predict_proba predict_log_proba decision_function proba"
_SCORED = "score scores accuracy metrics f1 f1_score precision recall classification_report"
_LEARN = "fit train learn partial_fit fit_predict fit_transform"
_FILES = "dump dumps to_mln to_json write_mln to_file"

WORDS: Mapping[str, Mapping[str, str]] = {
    "Database": _words(
        {
            "table_names list_tables show_tables relations schema": "db.tables() lists what is loaded, and "
            "db.sql('show all tables') all tables",
            _LEARN: "a learner learns from it: sqlrl.AdaGrad().fit(db, model), or sqlrl.choose_learner(db, model).estimator().fit(db, model)",
            f"{_PROBABLE} probability marginal sample gibbs": "db.probabilities(model) finds the probability of each atom",
            f"{_SCORED} auc": "db.evaluate(db.predict(model)) scores a prediction, db.evaluate(db.probabilities(model)) probabilities",
            "infer inference map_inference mpe decode solve": "db.predict(model) finds the most probable world, db.probabilities(model) probabilities",
            "to_sql as_sql model_sql create_view export_view score_sql": "db.export(model, format='sql') writes a model as a view that gives each atom its "
            "probability",
            "query execute fetch fetchall fetchone run_sql read_sql": "db.sql(query) runs SQL on it",
            "count_by group_by group_counts": "db.count(model, by='x') counts the clauses by the constants of their variables",
            "examples example_names": "db.sql('from sqlrl.example') lists the examples",
            "history": "db.runs() lists the runs, and db.runs[number] is one of them",
            "report html_report plot charts": "db.runs[number].report('report.html') writes a page about a run, and db.runs[number].plot has its charts",
            "clauses weights rules": "db.sql('from sqlrl.strongest_clauses') lists those of the newest model",
            "add insert add_facts load_facts load_csv load_parquet read_csv read_parquet load_table from_pandas": "db.load('Predicate', source) "
            "loads a file, a frame, a query or tuples",
            "labels load_labels targets set_target": "db.load('Predicate', source, target=True) loads labels",
            "load_model read_model read_mln parse": "sqlrl.read_mln(path) reads a model, which db.predict(model) takes",
            "train_test_split holdout hold_out": "db.split(0.2) holds out a part of the data",
            "cross_validate cross_val_score k_fold kfold folds": "sqlrl.k_fold(names) makes folds of examples",
            "commit flush save": "there is nothing to save: what a call has done is in the file when it returns; db.close() closes it",
            "disconnect": "db.close() closes it",
            "types": "db.sql('from sqlrl.type') lists the types",
            "why": "db.predict(model).why('Predicate(constant)') says why an atom is predicted so",
            "confusion confusion_matrix worst_predictions": "once db.evaluate(db.predict(model, keep=True)) has filled them, db.sql('from sqlrl.confusion') and "
            "db.sql('from sqlrl.worst_predicted_examples') show them",
            "redundant redundant_clauses overlaps": "db.diagnose(model, kind='overlap') finds the clauses that say the same",
            "compare compare_runs": "db.sql('from sqlrl.run_comparison where first = 1 and second = 2') compares two runs",
            "set_scope": "db.scope('Predicate', rows) says which tuples are query atoms",
        }
    ),
    "estimator": _words(
        {
            "predict infer inference decode": "the model predicts: db.predict(fit.model_)",
            f"{_PROBABLE} marginals probabilities": "db.probabilities(fit.model_) finds probabilities",
            f"{_SCORED} evaluate": "db.evaluate(db.predict(fit.model_)) scores it, on examples that it has not learned from",
            "fit_predict": "call fit(db, model), and then db.predict(fit.model_)",
            "fit_transform transform": "a learner transforms no data: call fit(db, model), and then db.predict(fit.model_)",
            "coef_ coefs_ coef feature_importances_ importances weights": "fit.clauses() lists the clauses with their weights, the strongest first",
            "intercept_ bias_": "the intercept is a rule of its own, such as `Smokes(x)`: fit.clauses() lists its weight",
            "train learn run_fit": "fit(db, model) learns",
            "partial_fit update learn_one": "fit(db, model, examples) learns anew; a run that was stopped goes on with fit(db, model, resume=RUN)",
            f"save {_FILES} export": "fit.model_.save('learned.mln') writes the learned model",
            "load": "sqlrl.read_mln(path) reads a learned model, which db.predict(model) takes",
            "rules formulas theory": "fit.model_.rules has the learned rules, fit.clauses() the clauses as a table",
            "n_iter_ loss_ losses_ loss_curve_ history_ history": "db.sql('from sqlrl.iteration') has the iterations of a batch learner, "
            "db.sql('from sqlrl.step') the steps of an online one",
            "summary describe": "print it, or fit.clauses()",
            "params": "fit.get_params() returns its parameters",
            "report html_report": "db.runs[fit.run_].report('report.html') writes a page about its run",
        }
    ),
    "Prediction": _words(
        {
            f"{_PROBABLE} probabilities probability marginals": "it is one world, without probabilities: db.probabilities(model).probabilities()",
            f"{_SCORED} auc": "db.evaluate(prediction) compares it with the labels",
            _FRAME: "prediction.table().to_pandas() returns the true atoms as a frame, prediction.atoms() as an Arrow table",
            "true true_atoms facts labels y_pred predictions truth": "prediction.atoms() returns the true atoms, with every=True also the false ones",
            "world": "prediction.atoms(every=True) returns each atom with its truth",
            "explain explanation reasons": "prediction.why('Predicate(constant)') says why an atom is predicted so",
            f"save to_parquet to_table into {_FILES}": "prediction.write('name') makes a table of it",
            "energy log_probability": "prediction.objective is the sum of the weights of what the world satisfies",
            "clauses weights": "they are those of the model: fit.clauses() of the learner, or db.sql('from sqlrl.strongest_clauses')",
            "groups cluster": "prediction.clusters('Predicate') returns the clusters of a predicted equivalence",
        }
    ),
    "Marginals": _words(
        {
            f"{_PROBABLE} probability p proba_ marginals": "marginals.probabilities() returns them",
            f"{_SCORED} auc auc_roc roc_auc average_precision log_likelihood calibration": "db.evaluate(marginals) compares them with the labels",
            _FRAME: "marginals.table().to_pandas() returns them as a frame, marginals.probabilities() as an Arrow table",
            "true world truth labels predict y_pred": "they are probabilities, and no world: db.predict(model).atoms() has the atoms that are true "
            "in the most probable one",
            "explain reasons": "db.predict(model).why('Predicate(constant)') gives reasons of a predicted atom",
            "samples": "db.probabilities(model, samples_into='name') makes a table of the sampled worlds",
            f"save to_parquet to_table into {_FILES}": "marginals.write('name') makes a table of them",
        }
    ),
    "Model": _words(
        {
            _LEARN: "a learner learns its weights: sqlrl.AdaGrad().fit(db, model)",
            "predict infer inference decode": "db.predict(model) finds the most probable world",
            f"{_PROBABLE} marginals probabilities": "db.probabilities(model) finds probabilities",
            f"{_SCORED} evaluate": "db.evaluate(db.predict(model)) scores it",
            "load read from_file from_string parse open": "sqlrl.read_mln(path) reads a model, sqlrl.parse_mln(text) makes one of a text",
            "to_sql as_sql export_sql sql": "db.export(model, format='sql') writes it as a view that gives each atom its probability",
            f"write export to_string {_FILES}": "model.save('model.mln') writes it, and str(model) is its text",
            "weights coef_ clauses formulas weight": "model.rules has the rules, each with its weight",
            "clusters": "predict with it first, db.predict(model).clusters()",
            "add add_rule append extend add_rules": "model.with_rules((*model.rules, *other.rules)) returns a model with more rules",
            "constants domains": "model.types has the constants that are declared",
            "ground count explain": "db.advanced.ground(model), db.count(model) and model.plan(db) hold it against data",
        }
    ),
    "SoftModel": _words(
        {
            "load read from_file from_string parse open": "sqlrl.read_psl(path) reads a program, sqlrl.parse_psl(text) makes one of a text",
            f"write export to_string {_FILES}": "model.save('model.psl') writes it, and str(model) is its text",
            "weights coef_ clauses formulas weight": "model.rules has the rules, each with its weight",
            "add add_rule append extend add_rules": "model.with_rules((*model.rules, *other.rules)) returns a model with more rules",
        }
    ),
    "Table": _words(
        {
            "df to_df pandas": "table.to_pandas() returns a pandas frame",
            "iloc loc values shape sort_values groupby query describe to_csv to_dict merge": "table.to_pandas() returns a pandas frame, which has that",
            "collect lazy": "table.to_polars() returns a polars frame, which has that",
            "fetchall fetchone rows": "a table is iterated row by row: list(table); table.to_arrow() is the Arrow table",
            "show display print": "print it, or table.to_text()",
            "tail": "table.to_pandas().tail() shows the last rows, table.head(5) the first ones",
        }
    ),
    "Scores": _words(
        {
            "auc auc_roc roc_auc average_precision log_likelihood calibration log_loss": "they need probabilities: db.evaluate(db.probabilities(model))",
            "accuracy": "scores.example_accuracy is the share of examples that are all right, scores.total has the counts of atoms",
            "f1_score fscore micro_f1": "scores.f1 is it",
            "tp fp fn tn true_positives false_positives errors": "scores.total has the counts",
            "confusion_matrix confusion": "scores.total has the counts; those of a kept prediction are in SQL: db.sql('from sqlrl.confusion')",
            f"{_FRAME} report": "scores.table() returns a row for each predicate",
        }
    ),
    "ProbabilityScores": _words(
        {
            "f1 f1_score precision recall total": "they are of a predicted world: db.evaluate(db.predict(model))",
            "auc roc_auc auroc": "scores.auc_roc is it",
            "ap aucpr auc_pr": "scores.average_precision is it",
            "log_loss logloss cross_entropy loss": "scores.mean_log_likelihood is it with the other sign",
            "ece": "scores.calibration_error is it",
            "brier_score mse": "scores.brier is it",
            "map mean_average_precision example_table examples per_example rankings ndcg": "scores.by_example() says how well the atoms of each "
            "example are ranked, and the means over examples",
            f"{_FRAME} report": "scores.table() returns a row for each predicate",
        }
    ),
    "RankingScores": _words(
        {
            "map ap": "scores.mean_average_precision is the mean over examples, scores.average_precision has each",
            "auc_roc roc_auc auroc area": "scores.mean_auc is the mean over examples, scores.auc has each",
            "sem standard_error std error": "scores.average_precision_error and scores.auc_error are the standard errors of the means",
            "difference ttest paired minus": "scores.compare(other) compares two rankings of the same examples",
            f"{_FRAME} report": "scores.table() returns a row for each example, scores.means() one for each measure",
        }
    ),
    "RunRecord": _words(
        {
            "model": "db.models[run.model_number] returns it",
            "html page to_html save": "run.report('report.html') writes a page about it",
            "timings": "run.seconds has the wall time by stage, and run.plot.timings() draws it",
        }
    ),
    "Split": _words(
        {
            "train_examples X_train training learn": "split.train has what to learn from",
            "test_examples X_test validation val holdout heldout": "split.test has what is held out",
        }
    ),
    "sqlrl": _words(
        {
            "LogisticRegression Logistic LogReg": "sqlrl.Likelihood learns weights by exact conditional likelihood",
            "PLL WPLL PseudoLogLikelihood GenerativeLearner Generative": "sqlrl.PseudoLikelihood learns weights by (weighted) pseudo-likelihood",
            "SVM SVC LinearSVC StructuredSVM SSVM": "sqlrl.MaxMargin learns weights with a large margin",
            "SGD Adam Optimizer FTRL": "sqlrl.AdaGrad is an online learner, and sqlrl.choose_learner(db, model) chooses one by the data",
            "ContrastiveDivergenceLearner CD": "sqlrl.baselines.ContrastiveDivergence is it",
            "Aleph Progol FOIL Metagol RuleLearner": "sqlrl.ILP learns clauses, and sqlrl.OSL clauses with weights",
            "StructureLearning StructureLearner LSM BUSL": "sqlrl.MSL learns clauses about all predicates, and sqlrl.OSL those of a target",
            "TransferLearner TAMAR Revision": "sqlrl.Transfer carries a model over to other data, and db.diagnose(model) tells which of its rules are wrong there",
            "MLN MarkovLogicNetwork MarkovLogic Program Rule Rules Formula PSL": "sqlrl.parse_mln(text) makes a model of a text, sqlrl.read_mln(path) reads a file",
            "open Connection DB open_database create_engine": "sqlrl.connect(path) opens a database",
            "load read_csv load_csv read_parquet load_data DataFrame Dataset": "open a database, db = sqlrl.connect(), and load into it: db.load('Predicate', source)",
            "load_model read parse load_mln": "sqlrl.read_mln(path) reads a model, sqlrl.parse_mln(text) makes one of a text",
            _LEARN: "a learner learns: sqlrl.AdaGrad().fit(db, model)",
            "predict infer inference": "db.predict(model) predicts with a database, db = sqlrl.connect(path)",
            f"{_PROBABLE} marginals probabilities": "db.probabilities(model) finds probabilities with a database, db = sqlrl.connect(path)",
            "split train_test_split holdout": "db.split(0.2) holds out a part of the data of a database",
            "KFold StratifiedKFold kfold folds cross_validate cross_val_score": "sqlrl.k_fold(names) makes folds of examples",
            "GroupKFold LeaveOneGroupOut": "sqlrl.leave_one_group_out(names, groups) makes a fold for each group",
            "metrics score accuracy_score f1_score": "db.evaluate(prediction) scores a prediction; the metrics are in sqlrl.evaluate",
            "roc_auc_score": "sqlrl.auc_roc(truth, score) is it",
            "average_precision_score": "sqlrl.average_precision(truth, score) is it",
            "log_loss brier_score_loss calibration_curve": "sqlrl.score_probabilities(truth, probability) has it",
            "save": "sqlrl.save_model(model, path) writes a model",
            "version": "sqlrl.__version__ is it",
            "sql query": "db.sql(query) runs SQL on a database, db = sqlrl.connect(path)",
        }
    ),
    "parameter": _words(
        {
            "lr eta alpha step_size": "learning_rate",
            "seed rng random_seed": "random_state",
            "epochs n_epochs num_epochs n_passes": "passes",
            "max_iter n_iter max_iterations n_iterations": "iterations",
            "lambda_ l1 l1_penalty reg": "regularization",
            "batch_size chunk_size": "window",
            "cv n_splits": "folds",
            "strength C_ regularization_strength": "strength",
            "relearn refit reweigh": "then",
            "drop_zero prune sparse": "drop_zeros",
        }
    ),
}
"""The sentence that helps, by owner and word; of parameters the names that they may have here."""


class Helpful:
    """What says, of a name that it does not have, what to call instead."""

    __slots__ = ()

    _owner: ClassVar[str] = ""
    """The key of `WORDS`."""

    if not TYPE_CHECKING:  # or else every name would pass the check of types

        def __getattr__(self, name):
            # Called only for what is not there; or where a property failed, whose error is the news.
            if name.startswith(_PROBES):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            old = NAMES.get(self._owner, {}).get(name)
            if old is not None:
                return old.of(self, name)
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)
            raise no_name(type(self).__name__, name, self._owner, dir(self))


def no_name(kind: str, name: str, owner: str, known: Iterable[str]) -> AttributeError:
    """Return the error that `kind` lacks a name, with the call that helps; `owner` is a key of `WORDS`, `known` the names there are."""
    if name.startswith(_PROBES):
        # Asked by machines, often, and never shown.
        return AttributeError(f"{kind!r} object has no attribute {name!r}")
    what = "sqlrl" if owner == "sqlrl" else f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
    return UnknownNameError(f"{what} has no attribute {name!r}{hint(owner, name, known)}")


def hint(owner: str, name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the sentence of a word, else the names that are nearest, else nothing."""
    found = WORDS.get(owner, {})
    if name in found:
        return f": {found[name]}"
    near = misspelt(name, (each for each in known if not each.startswith("_")))
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    folded = {word.casefold(): sentence for word, sentence in found.items()}
    word = misspelt(name, folded)
    return f": {folded[word[0]]}" if word else ""


def misspelt(name: str, known: Iterable[str]) -> list[str]:
    """Return the names for which another one may be misspelt, the nearest first, at most three; case and underscores count little."""
    plain = _plain(name)
    far = [(edits(plain, _plain(each)), each) for each in known]
    return [each for distance, each in sorted(far) if distance <= len(plain) // _NEAREST][:_NEAREST]


def _plain(name: str) -> str:
    return name.casefold().replace("_", "")
