"""Runs as users meet them: what the database has of them, their charts, and the page about them."""

from __future__ import annotations

from pathlib import Path

from sqlrl.database import reports
from sqlrl.database.run_data import RunData
from sqlrl.report.page import Report
from sqlrl.slips import Helpful


class RunRecord(RunData, Helpful):
    r"""A run as the database has it; `Database.runs` has it.

    Parameters
    ----------
    session : Session
    number : int
        Its number in `sqlrl.run`.
    learner : str
        The learner, or what else it was: predict, marginals, audit, ...
    status : str
        running, done, interrupted or failed.
    started : str
        When it started.
    parameters : mapping of str to object
    seed : int or None
    versions : mapping of str to str
        Of Python and the packages that results depend on.
    fingerprint : str
        Of the data.
    seconds : mapping of str to float
        Wall time by stage; empty if the run has not ended.
    model_number : int or None
        The model in `sqlrl.model` that it learned or used.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = sqlrl.AdaGrad().fit(db, model)
    >>> run = db.runs[fit.run_]
    >>> run.learner, run.status, run.plot.learning_curve().table()["running_accuracy"]
    ('AdaGrad', 'done', [0.0, 0.5])
    """

    def report(self, path: str | Path | None = None) -> Report:
        """Return a page about the run: clauses, charts, examples with the clauses behind their atoms, timings and data.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page, a name that ends in .html.

        Returns
        -------
        Report
            `html()` is one page that needs no network. Runs of the same model stand on it, too: the one that learned it, and the newest evaluations of
            its predictions (`predict(keep=True)`, then `evaluate`) and of its probabilities (`probabilities(keep=True)`, then `evaluate`).

        Raises
        ------
        InputError
            The name of the file has another ending.
        SqlrlError
            vl-convert is not installed, which the page's charts come from.
        """
        return reports.report(self, path)
