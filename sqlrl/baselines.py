"""Learners to compare with: earlier online updates, and the voted perceptron. `sqlrl.AdaGrad` and `sqlrl.Likelihood` learn better as a rule.

Examples
--------
>>> import sqlrl
>>> from sqlrl import baselines
>>> db = sqlrl.connect()
>>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
>>> db.load("Liked", [("d1",)], types=["doc"], target=True)
>>> model = sqlrl.parse_mln("Word(doc, word)\\nLiked(doc)\\nWord(d, +w) => Liked(d)")
>>> baselines.Perceptron().fit(db, model).model_.learned
True
"""

from sqlrl.learn import MIRA, ContrastiveDivergence, Perceptron, Subgradient
from sqlrl.learn.batch.perceptron import VotedPerceptron

__all__ = ["MIRA", "ContrastiveDivergence", "Perceptron", "Subgradient", "VotedPerceptron"]
