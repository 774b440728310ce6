"""A linear-chain conditional random field by CRFsuite, with the features of the linear chain LC_0 and the same citations and scores.

Its labels are the fields and one for no field. A feature is a word with a label, or a label with the next one, all pairs of each, as the
templates of LC_0 have them. The two are not quite one model: LC_0 has no weights of its own for positions without a field, and what it
says of a field and the next one weighs against all others that may follow, too.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pycrfsuite
from segmentation_scores import Segmented, most_probable, prediction_scores, probability_scores

from sqlrl.evaluate import score, score_fields

NOTHING = "-"
"""The label of a position without a field."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The words of an example in their order, and the label of each."""

    words: tuple[str, ...]
    labels: tuple[str, ...]


def read_chains(tokens: pa.Table, labels: pa.Table) -> dict[str, Chain]:
    """Read examples: `tokens` are rows of token, position and example, `labels` of example, field and position.

    Positions come in the order of their names.
    """
    field = {(example, place): name for example, name, place in zip(*labels.to_pydict().values(), strict=True)}
    words: dict[str, list[tuple[str, str]]] = {}
    for word, place, example in zip(*tokens.to_pydict().values(), strict=True):
        words.setdefault(example, []).append((place, word))
    found = {}
    for example, placed in words.items():
        placed.sort()
        places = [place for place, _ in placed]
        found[example] = Chain(
            tuple(word for _, word in placed), tuple(field.get((example, place), NOTHING) for place in places)
        )
    return found


def train(chains: Sequence[Chain], penalty: str, strength: float, *, tolerance: float = 1e-6) -> bytes:
    """Learn weights; return the model as CRFsuite stores it.

    What is minimised is the negative log-likelihood with `strength` times the 1-norm of the weights, or half the square of the 2-norm.
    """
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for chain in chains:
        trainer.append([[word] for word in chain.words], list(chain.labels))
    # CRFsuite minimises NLL + c1 |w| + c2 w^2.
    c1, c2 = (strength, 0.0) if penalty == "L1" else (0.0, strength / 2)
    trainer.set_params({
        "c1": c1, "c2": c2, "feature.possible_states": True, "feature.possible_transitions": True,
        "epsilon": tolerance, "delta": tolerance, "max_iterations": 5000,
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "crf")
        trainer.train(str(path))
        return path.read_bytes()


def weights_other_than_zero(model: bytes) -> int:
    """Return how many features of a model have a weight."""
    info = _tagger(model).info()
    return len(info.state_features) + len(info.transitions)


def chain_scores(model: bytes, chains: Mapping[str, Chain]) -> Segmented:
    """Score the most probable labels, and the probabilities, of examples."""
    tagger = _tagger(model)
    known = tagger.labels()
    fields = sorted({label for chain in chains.values() for label in (*chain.labels, *known)} - {NOTHING})
    truth, world, probability, likelihood = [], [], [], 0.0
    size = [len(chain.words) * len(fields) for chain in chains.values()]
    for chain in chains.values():
        tagger.set([[word] for word in chain.words])
        found = tagger.tag()
        # A label that was never seen in training has probability 0.
        chance = tagger.probability(list(chain.labels)) if set(chain.labels) <= set(known) else 0.0
        likelihood += math.log(chance) if chance > 0 else -math.inf
        for k, label in enumerate(chain.labels):
            for name in fields:
                truth.append(label == name)
                world.append(found[k] == name)
                probability.append(tagger.marginal(name, k) if name in known else 0.0)
    example = np.repeat(np.arange(len(size)), size)
    field = np.tile(np.arange(len(fields)), len(truth) // len(fields))
    right, guess = np.array(truth), np.array(world)
    scores = prediction_scores(score(right, guess, example), score_fields(right, guess, example, field).f1)
    ece, brier = probability_scores(right, np.clip(probability, 0.0, 1.0))
    mean = likelihood / len(chains)
    chosen = most_probable(np.repeat(np.arange(len(right) // len(fields)), len(fields)), np.array(probability))
    return replace(
        scores,
        ece=ece,
        brier=brier,
        log_likelihood=mean if math.isfinite(mean) else None,
        impossible=0,
        f1_marginal=100 * score(right, chosen, example).f1,
    )


def _tagger(model: bytes) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(model)
    return tagger
